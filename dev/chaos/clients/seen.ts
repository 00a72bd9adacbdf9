/**
 * A client's observations of one request, from its first byte to its last: a line of the client log.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import type { RequestKind } from '../plan/requests.ts'

export interface Seen {
  /** `r17`; also in the text of the request. */
  id: string
  kind: RequestKind | 'probe' | 'farewell'
  /** The requests of the conversation before it. */
  follows: readonly string[]
  way: ClientDialect
  owner: string
  /** 0 or 1: the edge that got the request. */
  edge: number
  model: string
  /** The first characters of the key, which name it. */
  key: string
  sentAtMs: number
  headAtMs: number | null
  endedAtMs: number
  status: number | null
  /** `x-request-id`. */
  requestId: string | null
  /** The end of the response came: the whole JSON, or `[DONE]` or the terminal event of its API. */
  complete: boolean
  done: boolean
  finishReason: string | null
  /** The part of the text that came: all, a beginning of it (maybe none), or something else. */
  text: 'all' | 'beginning' | 'other'
  textLength: number
  /** Whole words of the text that came: a token each, and the first one more. */
  words: number
  /**
   * Every `id` that the response's parts bear and its backend gave. The Responses API has none: there the gateway names
   * the response.
   */
  responseIds: string[]
  usage: { promptTokens: number; completionTokens: number } | null
  /** Code of the error event in the stream. */
  errorEvent: string | null
  /** It went by itself before the end. */
  left: boolean
  /** The key was dead when it was sent, or its rotation or revocation was under way before the end. */
  keyState: 'alive' | 'dead' | 'unsure'
  /**
   * The fault in the client's eyes: `429 requests`, `503 SERVICE_UNAVAILABLE`, `unreachable` (no response), `cut`
   * (broken off without a word), `error event`, `hung`; null where there was none.
   */
  problem: string | null
  /** `error.scope` of a refusal. */
  scope: string | null
  detail: string
}
