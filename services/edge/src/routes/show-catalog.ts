/**
 * `GET /v1/catalog?view=tiers`: the brand tiers in order, with what a token costs on each.
 */

import type { RequestHandler } from 'express'
import type { z } from 'zod'
import type { tierCatalog } from '@gateway/contracts/catalog'
import type { GatewayConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import type { Edge } from '../edge.ts'

export function showCatalog(edge: Edge): RequestHandler {
  return (request, response) => {
    if (request.query['view'] !== 'tiers') throw new GatewayError('VALIDATION_ERROR', 'view: the only view is tiers')
    response.json({ object: 'catalog', view: 'tiers', data: tiersOf(edge.config.current) } satisfies z.infer<
      typeof tierCatalog
    >)
  }
}

/** A tier is a model with a place in the order. */
function tiersOf(config: GatewayConfig) {
  return config.models
    .flatMap((model) => (model.order === undefined ? [] : [{ ...model, order: model.order }]))
    .sort((a, b) => a.order - b.order)
    .map((model) => ({
      id: model.id,
      name: model.name ?? model.id,
      order: model.order,
      multiplier: model.type === 'auto' ? null : (model.multiplier ?? 1),
      availability: model.availability,
      purpose: model.purpose ?? '',
    }))
}
