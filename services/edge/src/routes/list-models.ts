/**
 * `GET /v1/models` and `GET /v1/models/{id}`: the live list, straight from the running configuration. An id may hold
 * slashes, sent as they are or as `%2F`.
 */

import type { z } from 'zod'
import type { modelList } from '@gateway/contracts/catalog'
import { GatewayError } from '@gateway/contracts/errors'
import { findModel, liveModels } from '@gateway/contracts/models'
import { answerCacheable } from './answer-cacheable.ts'
import { noticeHeaders } from '../core/answer-headers.ts'
import { toModelEntries, toModelEntry } from '../core/public-lists.ts'
import type { Edge } from '../edge.ts'
import type { Handler } from '../listen/route.ts'

export function listModels(edge: Edge): Handler<'none'> {
  return (_request, response) => {
    const data = liveModels(edge.config.current.models, Date.now()).flatMap(toModelEntries)
    answerCacheable(response, { object: 'list', data } satisfies z.infer<typeof modelList>)
  }
}

export function showModel(edge: Edge): Handler<'none'> {
  return (request, response) => {
    const id = [request.params['id'] ?? []].flat().join('/')
    const model = findModel(liveModels(edge.config.current.models, Date.now()), id)
    if (!model) throw new GatewayError('MODEL_NOT_FOUND', `The model ${id} does not exist`)
    answerCacheable(response, toModelEntry(model, id), noticeHeaders(model))
  }
}
