/**
 * `GET /v1/catalog?view=tiers`: the brand tiers in order, with what a token costs on each.
 */

import type { RequestHandler } from 'express'
import type { z } from 'zod'
import type { tierCatalog } from '@gateway/contracts/catalog'
import { GatewayError } from '@gateway/contracts/errors'
import { answerCacheable } from '../answer-cacheable.ts'
import { tiersOf } from '../core/public-lists.ts'
import type { Edge } from '../edge.ts'

export function showCatalog(edge: Edge): RequestHandler {
  return (request, response) => {
    if (request.query['view'] !== 'tiers') throw new GatewayError('VALIDATION_ERROR', 'view: the only view is tiers')
    const data = tiersOf(edge.config.current)
    answerCacheable(response, { object: 'catalog', view: 'tiers', data } satisfies z.infer<typeof tierCatalog>)
  }
}
