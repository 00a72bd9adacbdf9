/**
 * `GET /v1/models` and `GET /v1/models/{id}`: the live list, straight from the running configuration.
 */

import type { RequestHandler } from 'express'
import type { ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import type { Edge } from '../edge.ts'

/** The API has no creation date of its own for a lane; a fixed one keeps clients' caches quiet. 2026-01-01. */
const CREATED_S = 1_767_225_600

export function listModels(edge: Edge): RequestHandler {
  return (_request, response) => {
    response.json({ object: 'list', data: edge.config.current.models.map(toEntry) })
  }
}

export function showModel(edge: Edge): RequestHandler {
  return (request, response) => {
    const id = request.params['id']
    const model = edge.config.current.models.find((candidate) => candidate.id === id)
    if (!model) throw new GatewayError('MODEL_NOT_FOUND', `The model ${String(id)} does not exist`)
    response.json(toEntry(model))
  }
}

function toEntry(model: ModelConfig) {
  return { id: model.id, object: 'model', created: CREATED_S, owned_by: model.ownedBy }
}
