/**
 * The list of models as Anthropic's clients read it, in pages of their kind: after a model, or before one.
 */

import type { ModelInfo, modelsPage } from '@gateway/contracts/catalog'
import type { ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import type * as z from 'zod'
import { CREATED_S, namesOf } from './public-lists.ts'

/** Anthropic's own bounds. */
const USUAL_LIMIT = 20
const MOST_LIMIT = 1_000

export function toModelInfos(model: ModelConfig, nowMs: number): ModelInfo[] {
  return namesOf(model).map((name) => toModelInfo(model, name, nowMs))
}

/** `name`: its id, or an alias. */
export function toModelInfo(model: ModelConfig, name: string, nowMs: number): ModelInfo {
  const { deprecatedAt, sunsetAt, maxOutputTokens = null } = model
  const isDeprecated = deprecatedAt !== undefined && Date.parse(deprecatedAt) <= nowMs
  return {
    type: 'model',
    id: name,
    display_name: model.name ?? name,
    created_at: timeOf(CREATED_S * 1_000),
    lifecycle: isDeprecated ? 'deprecated' : 'active',
    deprecated_at: isDeprecated ? timeOf(Date.parse(deprecatedAt)) : null,
    retires_at: isDeprecated && sunsetAt !== undefined ? timeOf(Date.parse(sunsetAt)) : null,
    line: null,
    capabilities: null,
    max_input_tokens: null,
    max_tokens: maxOutputTokens,
  }
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -'.000Z'.length)}Z`
}

type Query = Record<string, unknown>

export function pageOf(models: ModelInfo[], query: Query): z.infer<typeof modelsPage> {
  const limit = limitIn(query)
  const after = placeOf(models, query, 'after_id')
  const before = placeOf(models, query, 'before_id')
  if (after !== null && before !== null)
    throw new GatewayError('VALIDATION_ERROR', 'before_id: does not go with after_id')
  const end = before ?? models.length
  const begin = before === null ? (after ?? -1) + 1 : Math.max(0, before - limit)
  const data = models.slice(begin, Math.min(end, begin + limit))
  const hasMore = before === null ? begin + limit < models.length : begin > 0
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

function limitIn({ limit }: Query): number {
  if (limit === undefined) return USUAL_LIMIT
  const number = Number(limit)
  if (Number.isInteger(number) && number >= 1 && number <= MOST_LIMIT) return number
  throw new GatewayError('VALIDATION_ERROR', `limit: must be a whole number from 1 to ${MOST_LIMIT}`)
}

function placeOf(models: ModelInfo[], query: Query, name: 'after_id' | 'before_id'): number | null {
  const id = query[name]
  if (id === undefined) return null
  const place = models.findIndex((model) => model.id === id)
  if (place < 0) throw new GatewayError('VALIDATION_ERROR', `${name}: is not the id of a model of the list`)
  return place
}
