/**
 * Rows of usage in the shapes of OpenAI's Administration API. Pure.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { Output } from '@gateway/contracts/administration/operations'
import type { Column, UsageRow } from './usage-page.ts'

/** The results of a call that is named. */
export type Result<Name extends 'usage.completions' | 'usage.embeddings' | 'usage.images' | 'usage.costs' | Tools> =
  Output<Name>['data'][number]['results'][number]
type Tools = 'usage.webSearchCalls' | 'usage.fileSearchCalls' | 'usage.codeInterpreterSessions'

/** `by`: the columns of the groups, in the order of the row's. */
export type ResultOf<Of> = (row: UsageRow, by: readonly string[]) => Of

const GROUP_COLUMNS = new Map<string, Column>([
  ['project_id', 'account'],
  ['user_id', 'user_id'],
  ['api_key_id', 'key_id'],
  ['model', 'model_asked'],
  ['line_item', 'model_asked'],
  ['tag', 'tag'],
])

/** Others have one value for all usage. */
export function columnsOf(groupBy: readonly string[]): Column[] {
  return [...new Set(groupBy.flatMap((name) => GROUP_COLUMNS.get(name) ?? []))]
}

export const KEY = 'key_'
const PREFIX: Partial<Record<Column, string>> = { account: PROJECT_PREFIX, key_id: KEY }

function groupOf(row: UsageRow, by: readonly string[], name: string): string | null {
  const column = GROUP_COLUMNS.get(name)!
  const value = by.includes(name) ? row.groups[columnsOf(by).indexOf(column)] : undefined
  return value ? `${PREFIX[column] ?? ''}${value}` : null
}

const ofKey = (row: UsageRow, by: readonly string[]) => ({
  project_id: groupOf(row, by, 'project_id'),
  user_id: groupOf(row, by, 'user_id'),
  api_key_id: groupOf(row, by, 'api_key_id'),
})
const ofModel = (row: UsageRow, by: readonly string[]) => ({
  ...ofKey(row, by),
  model: groupOf(row, by, 'model'),
  tag: groupOf(row, by, 'tag'),
})
const source = (by: readonly string[]) => (by.includes('api_source') ? 'unlabeled' : null)

export const completions: ResultOf<Result<'usage.completions'>> = (row, by) => {
  const uncached = row.promptTokens - row.cachedTokens - row.cacheWriteTokens
  const uncachedAudio = row.audioPromptTokens - row.cachedAudioTokens
  return {
    object: 'organization.usage.completions.result',
    input_tokens: row.promptTokens,
    output_tokens: row.completionTokens,
    num_model_requests: row.requests,
    input_cached_tokens: row.cachedTokens,
    input_uncached_tokens: uncached,
    input_cache_write_tokens: row.cacheWriteTokens,
    input_text_tokens: uncached - uncachedAudio,
    output_text_tokens: row.completionTokens - row.audioCompletionTokens,
    input_cached_text_tokens: row.cachedTokens - row.cachedAudioTokens,
    input_audio_tokens: uncachedAudio,
    input_cached_audio_tokens: row.cachedAudioTokens,
    output_audio_tokens: row.audioCompletionTokens,
    ...ofModel(row, by),
    batch: null,
    service_tier: null,
    api_source: source(by),
  }
}

export const embeddings: ResultOf<Result<'usage.embeddings'>> = (row, by) => ({
  object: 'organization.usage.embeddings.result',
  input_tokens: row.promptTokens,
  num_model_requests: row.requests,
  ...ofModel(row, by),
})

export const images: ResultOf<Result<'usage.images'>> = (row, by) => ({
  object: 'organization.usage.images.result',
  images: row.units,
  num_model_requests: row.requests,
  ...ofModel(row, by),
  size: null,
  source: null,
})

export const webSearches: ResultOf<Result<'usage.webSearchCalls'>> = (row, by) => ({
  object: 'organization.usage.web_searches.result',
  num_requests: row.units,
  num_model_requests: row.requests,
  ...ofKey(row, by),
  model: groupOf(row, by, 'model'),
  context_level: null,
  api_source: source(by),
})

export const fileSearches: ResultOf<Result<'usage.fileSearchCalls'>> = (row, by) => ({
  object: 'organization.usage.file_searches.result',
  num_requests: row.units,
  ...ofKey(row, by),
  vector_store_id: null,
})

export const codeSessions: ResultOf<Result<'usage.codeInterpreterSessions'>> = (row, by) => ({
  object: 'organization.usage.code_interpreter_sessions.result',
  num_sessions: row.units,
  project_id: groupOf(row, by, 'project_id'),
})

const NANO_USD_PER_USD = 1e9

export const costs: ResultOf<Result<'usage.costs'>> = (row, by) => {
  const isByLine = by.includes('line_item')
  return {
    object: 'organization.costs.result',
    amount: { value: row.nanoUsd / NANO_USD_PER_USD, currency: 'usd' },
    line_item: groupOf(row, by, 'line_item'),
    ...ofKey(row, by),
    quantity: isByLine ? row.promptTokens + row.completionTokens : null,
    quantity_unit: isByLine ? 'tokens' : null,
    tag: groupOf(row, by, 'tag'),
    api_source: source(by),
  }
}
