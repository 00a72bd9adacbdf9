/**
 * `GET /v1/usage`: what the caller's account used over time, by day or by model, from the ledger.
 */

import { usageQuery, completeUsageQuestion } from '@gateway/contracts/usage-api'
import { toUsageRecord } from '@gateway/pricing/usage-record'
import type { Edge } from '../edge.ts'
import { parseBody } from '../read/inference-kinds.ts'
import type { Handler } from '../listen/route.ts'

export function showUsage(edge: Edge): Handler<'account'> {
  return async (request, response, account) => {
    const question = completeUsageQuestion(parseBody(usageQuery, request.query), Date.now())
    const { from, to, group_by: groupBy } = question
    const groups = account === null ? [] : (await edge.metering.usage({ account, from, to, groupBy })).groups
    response.json(toUsageRecord(question, groups))
  }
}
