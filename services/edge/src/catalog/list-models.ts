/**
 * Lists the running configuration's models: `GET /v1/models`, `GET /v1/models/{id}` and `GET /v1/catalog?view=tiers`. An id may
 * hold slashes, sent as they are or as `%2F`.
 */

import type { Request } from 'express'
import type { z } from 'zod'
import type { ConfigSource } from '@gateway/config/config-source'
import type { modelList, tierCatalog } from '@gateway/contracts/catalog'
import { GatewayError } from '@gateway/contracts/errors'
import { findModel, liveModels } from '@gateway/contracts/models'
import { respondCacheable } from '../http/respond-cacheable.ts'
import { ANTHROPIC_VERSION } from '../core/read-path.ts'
import { noticeHeaders } from '../core/response-headers.ts'
import { pageOf, toModelInfo, toModelInfos } from '../core/anthropic-models.ts'
import { tiersOf, toModelEntries, toModelEntry } from '../core/public-lists.ts'
import type { Handler } from '../http/handler.ts'

interface CatalogContext {
  config: ConfigSource
}

export function listModels(edge: CatalogContext): Handler<'none'> {
  return (request, response) => {
    const models = liveModels(edge.config.current.models, Date.now())
    response.vary(ANTHROPIC_VERSION)
    if (isOfAnthropic(request)) {
      const infos = models.flatMap((model) => toModelInfos(model, Date.now()))
      return respondCacheable(response, pageOf(infos, request.query))
    }
    const data = models.flatMap(toModelEntries)
    respondCacheable(response, { object: 'list', data } satisfies z.infer<typeof modelList>)
  }
}

export function showModel(edge: CatalogContext): Handler<'none'> {
  return (request, response) => {
    const id = [request.params['id'] ?? []].flat().join('/')
    const model = findModel(liveModels(edge.config.current.models, Date.now()), id)
    response.vary(ANTHROPIC_VERSION)
    if (!model) throw new GatewayError('MODEL_NOT_FOUND', `The model ${id} does not exist`)
    const entry = isOfAnthropic(request) ? toModelInfo(model, id, Date.now()) : toModelEntry(model, id)
    respondCacheable(response, entry, noticeHeaders(model))
  }
}

/** Every client of Anthropic's API sends it, and reads the list in Anthropic's shape. */
function isOfAnthropic({ headers }: Request): boolean {
  return headers[ANTHROPIC_VERSION] !== undefined
}

/** The brand tiers in order, with the price of a token on each. */
export function showCatalog(edge: CatalogContext): Handler<'none'> {
  return (request, response) => {
    if (request.query['view'] !== 'tiers') throw new GatewayError('VALIDATION_ERROR', 'view: the only view is tiers')
    const data = tiersOf({ models: liveModels(edge.config.current.models, Date.now()) })
    respondCacheable(response, { object: 'catalog', view: 'tiers', data } satisfies z.infer<typeof tierCatalog>)
  }
}
