/**
 * One chat request through the official client, and everything that its user and the wire saw.
 */

import OpenAI from 'openai'
import { userMessages } from '../promises/gateway.ts'

export interface Seen {
  /** Null until the headers came. */
  status: number | null
  requestId: string | null
  /** Text of the response, as far as it came. */
  text: string
  finishReason: string | null
  /** The response came whole: the client's own verdict. */
  complete: boolean
  /** `[DONE]`, or its dialect's terminal event, was on the wire. */
  done: boolean
  /** An error event was on the wire. */
  errorEvent: boolean
  /** The error that the client threw. */
  error: unknown
  /** The body of a response with another status than 200. */
  refusal: unknown
  usage: { prompt_tokens: number; completion_tokens: number } | null
  /** The longest time between two pieces, once it had begun. */
  longestPauseMs: number
}

export interface RequestOptions {
  url: string
  key: string
  model: string
  stream: boolean
  content?: string
  signal?: AbortSignal
  /** Called at the first text of a stream. */
  onBegun?(): void
}

export const QUESTION = 'Say: all is well'
export const REPLY = 'all is well'

export interface Requested {
  /** As it is now. */
  readonly seen: Seen
  /** Resolves when the request is over, however it ended. */
  readonly over: Promise<Seen>
}

export function nothingSeen(): Seen {
  return {
    status: null,
    requestId: null,
    text: '',
    finishReason: null,
    complete: false,
    done: false,
    errorEvent: false,
    error: null,
    refusal: null,
    usage: null,
    longestPauseMs: 0,
  }
}

export function requestChat(options: RequestOptions): Requested {
  const seen = nothingSeen()
  return { seen, over: run(options, seen) }
}

async function run(options: RequestOptions, seen: Seen): Promise<Seen> {
  const { url, key, model, signal, content = QUESTION } = options
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, fetch: watching(seen) })
  const request = { model, messages: userMessages(content) }
  try {
    if (options.stream) await readStream(client, request, options, seen)
    else {
      const reply = await client.chat.completions.create(request, { signal })
      seen.text = reply.choices[0]!.message.content ?? ''
      seen.finishReason = reply.choices[0]!.finish_reason
      seen.usage = reply.usage ?? null
    }
    seen.complete = seen.finishReason !== null && !signal?.aborted
  } catch (error) {
    seen.error = error
  }
  return seen
}

async function readStream(
  client: OpenAI,
  request: { model: string; messages: OpenAI.ChatCompletionMessageParam[] },
  { signal, onBegun }: RequestOptions,
  seen: Seen,
): Promise<void> {
  const requested = { ...request, stream: true as const, stream_options: { include_usage: true } }
  for await (const chunk of await client.chat.completions.create(requested, { signal })) {
    const choice = chunk.choices[0]
    const piece = choice?.delta.content ?? ''
    if (piece !== '' && seen.text === '') onBegun?.()
    seen.text += piece
    seen.finishReason = choice?.finish_reason ?? seen.finishReason
    seen.usage = chunk.usage ?? seen.usage
  }
}

/** A fetch that notes all that is on the wire and passes it on unchanged. */
function watching(seen: Seen): typeof fetch {
  return async (...args) => {
    const response = await fetch(...args)
    seen.status = response.status
    seen.requestId = response.headers.get('x-request-id')
    if (response.status !== 200) seen.refusal = await response.clone().json()
    if (!response.body) return response
    let tail = ''
    let lastAtMs: number | null = null
    const decoder = new TextDecoder()
    const watch = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        const nowMs = performance.now()
        if (lastAtMs !== null) seen.longestPauseMs = Math.max(seen.longestPauseMs, nowMs - lastAtMs)
        lastAtMs = nowMs
        const text = tail + decoder.decode(bytes, { stream: true })
        seen.done ||= text.includes('data: [DONE]')
        seen.errorEvent ||= text.includes('data: {"error"')
        tail = text.slice(-32)
        controller.enqueue(bytes)
      },
    })
    return new Response(response.body.pipeThrough(watch), response)
  }
}
