/**
 * `GET /v1/usage`: what the caller's account used over time, by day or by model, from the ledger.
 */

import type { RequestHandler } from 'express'
import { usageQuery } from '@gateway/contracts/usage-api'
import { completeUsageQuestion } from '@gateway/contracts/usage-question'
import { toUsageRecord } from '@gateway/pricing/usage-record'
import { accountFrom } from '../authenticate.ts'
import type { Edge } from '../edge.ts'
import { parseBody } from '../inference-kinds.ts'

export function showUsage(edge: Edge): RequestHandler {
  return async (request, response) => {
    const account = accountFrom(response)
    const question = completeUsageQuestion(parseBody(usageQuery, request.query), Date.now())
    const { from, to, group_by: groupBy } = question
    const groups = account === null ? [] : (await edge.metering.usage({ account, from, to, groupBy })).groups
    response.json(toUsageRecord(question, groups))
  }
}
