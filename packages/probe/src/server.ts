/**
 * Sends one request at a time to a server, each in bounded time. A request that fails is a finding, too: nothing here throws
 * for an error of the server.
 */

import { PLAIN, type DialectName } from '@gateway/contracts/vendors'
import { isObject, type JsonObject } from '@gateway/contracts/json'
import { createSseParser, type SseEvent } from '@gateway/sse/parse-events'
import { emptyContent, parseJson, textOf, type ChatBody, type Dialect, type ResponseContent } from './dialect.ts'
import { anthropicDialect } from './anthropic-dialect.ts'
import { openAiDialect } from './openai-dialect.ts'

export interface ServerAddress {
  /** With its version: `http://127.0.0.1:11434/v1`. */
  url: string
  apiKey?: string | undefined
  headers?: Record<string, string>
  dialect?: DialectName
}

export interface ChatResponse extends ResponseContent {
  /** 0 where the server did not respond. */
  status: number
  /** The server's own words about the request that it refuses. */
  error: string
  firstContentMs: number | null
  /** The server did not respond in time. */
  isLate: boolean
}

export interface JsonResponse {
  status: number
  json: unknown
  error: string
  isLate: boolean
}

export interface Server {
  readonly address: ServerAddress
  chat(body: ChatBody, leave?: AbortSignal): Promise<ChatResponse>
  /** A path below the base address, or an absolute address. The method is GET when there is no body. */
  sendRequest(path: string, body?: JsonObject, headers?: Record<string, string>): Promise<JsonResponse>
}

const dialects: Record<DialectName, Dialect> = { openai: openAiDialect, anthropic: anthropicDialect }

/** The first request may load a model from disk. */
const TIMEOUT_MS = 120_000
const ERROR_LENGTH = 200

export function openServer(address: ServerAddress, { timeoutMs = TIMEOUT_MS } = {}): Server {
  const dialect = dialects[address.dialect ?? PLAIN.dialect]
  const base = address.url.replace(/(?<!\/)\/+$/, '')
  const credentials = { ...dialect.headers(address.apiKey), ...address.headers }
  const call = (path: string, body: JsonObject | undefined, headers: Record<string, string>, leave?: AbortSignal) => {
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(leave ? [leave] : [])])
    return fetch(/^https?:/.test(path) ? path : base + path, {
      signal,
      // A redirect would take the credential to another server.
      redirect: 'error',
      headers: { ...credentials, ...headers, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    })
  }
  return {
    address,
    chat: async (body, leave) => {
      const received: ChatResponse = { ...emptyContent(), status: 0, error: '', firstContentMs: null, isLate: false }
      const startedAtMs = performance.now()
      try {
        const response = await call(dialect.path, dialect.write(body), {}, leave)
        received.status = response.status
        if (!response.ok) received.error = wordsOf(await response.text())
        else if (body['stream'] === true) await readStream(response, dialect, received, startedAtMs)
        else dialect.read(received, (await response.json()) as JsonObject)
      } catch (error) {
        Object.assign(received, failure(error, timeoutMs))
      }
      return received
    },
    sendRequest: async (path, body, headers = {}) => {
      try {
        const response = await call(path, body, headers)
        const text = await response.text()
        const json = parseJson(text)
        return { status: response.status, json: json ?? text, error: response.ok ? '' : wordsOf(text), isLate: false }
      } catch (error) {
        return { status: 0, json: null, ...failure(error, timeoutMs) }
      }
    },
  }
}

async function readStream(
  response: Response,
  dialect: Dialect,
  received: ChatResponse,
  startedAtMs: number,
): Promise<void> {
  const parser = createSseParser()
  const read = (events: SseEvent[]) => {
    for (const { data } of events) readEvent(data.trim(), dialect, received)
    if (received.text !== '' || received.tools.length > 0) received.firstContentMs ??= performance.now() - startedAtMs
  }
  for await (const bytes of response.body ?? []) read(parser.push(Buffer.from(bytes)))
  read(parser.end())
}

function readEvent(data: string, dialect: Dialect, received: ChatResponse): void {
  if (data === dialect.lastEvent) {
    received.ended = true
    return
  }
  const json = parseJson(data)
  if (!isObject(json)) return
  if (json['error'] != null) received.error = wordsOf(data)
  else dialect.read(received, json)
}

/** The sentence of an error body, cut short. */
function wordsOf(body: string): string {
  const parsed = parseJson(body)
  const json = Array.isArray(parsed) ? (parsed[0] as unknown) : parsed
  const error = isObject(json) && isObject(json['error']) ? json['error'] : json
  const sentence = isObject(error) ? textOf(error['message']) || textOf(error['detail']) || textOf(error['error']) : ''
  return (sentence || body).replaceAll(/\s+/g, ' ').trim().slice(0, ERROR_LENGTH)
}

function failure(error: unknown, timeoutMs: number): { error: string; isLate: boolean } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  const isLate = cause instanceof Error && cause.name === 'TimeoutError'
  if (isLate) return { error: `no response in ${timeoutMs / 1_000} s`, isLate }
  return { error: cause instanceof Error ? cause.message || cause.name : String(cause), isLate }
}
