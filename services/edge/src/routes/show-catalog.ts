/**
 * `GET /v1/catalog?view=tiers`: the brand tiers in order, with what a token costs on each.
 */

import type { z } from 'zod'
import type { tierCatalog } from '@gateway/contracts/catalog'
import { GatewayError } from '@gateway/contracts/errors'
import { liveModels } from '@gateway/contracts/models'
import { answerCacheable } from './answer-cacheable.ts'
import { tiersOf } from '../core/public-lists.ts'
import type { Edge } from '../edge.ts'
import type { Handler } from '../listen/route.ts'

export function showCatalog(edge: Edge): Handler<'none'> {
  return (request, response) => {
    if (request.query['view'] !== 'tiers') throw new GatewayError('VALIDATION_ERROR', 'view: the only view is tiers')
    const data = tiersOf({ models: liveModels(edge.config.current.models, Date.now()) })
    answerCacheable(response, { object: 'catalog', view: 'tiers', data } satisfies z.infer<typeof tierCatalog>)
  }
}
