/**
 * The requests that a server takes, and the responses that it writes. A probe writes OpenAI's chat body; a dialect turns it
 * into its own.
 */

import type { JsonObject } from '@gateway/contracts/json'

export interface ChatBody extends JsonObject {
  messages: JsonObject[]
}

/** The content of a response, plain or streamed. */
export interface ResponseContent {
  text: string
  finish: string | null
  tools: { name: string; arguments: string }[]
  choices: number
  logprobs: boolean
  usage: { prompt: number; completion: number } | null
  /** A stream said that it is whole. */
  ended: boolean
}

export interface Dialect {
  path: string
  headers(apiKey: string | undefined): Record<string, string>
  write(body: ChatBody): JsonObject
  /** Adds a plain response, or one event of a stream. */
  read(received: ResponseContent, json: JsonObject): void
  /** The words that end a stream, where they are no JSON. */
  lastEvent: string | null
}

export function emptyContent(): ResponseContent {
  return { text: '', finish: null, tools: [], choices: 0, logprobs: false, usage: null, ended: false }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

/** Returns undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
