/**
 * Sends a request through the official client, which must agree with the wire. Never throws.
 */

import OpenAI from 'openai'
import type { Requesting } from './request-over-http.ts'
import { noteRefusal } from './request-over-http.ts'
import { responseReader, type ResponseReader } from './read-response.ts'
import type { Seen } from './seen.ts'

const GIVE_UP_MS = 60_000

export async function requestWithSdk(requesting: Requesting, seen: Seen): Promise<void> {
  const reader = responseReader(seen, requesting.question)
  const client = new OpenAI({
    baseURL: `${requesting.url}/v1`,
    apiKey: requesting.key,
    maxRetries: 0,
    timeout: GIVE_UP_MS,
    fetch: watching(seen, reader),
  })
  const body = requesting.question.body as OpenAI.ChatCompletionCreateParams
  let isComplete = false
  try {
    const reply = await client.chat.completions.create(body)
    if ('controller' in reply) for await (const _ of reply);
    isComplete = true
  } catch (error) {
    noteError(seen, error)
  }
  if (seen.status === 200) reader.end(isComplete)
  // The client's own verdict: to its user, a response that it threw on is none.
  seen.complete &&= isComplete
  seen.endedAtMs = Date.now()
}

function noteError(seen: Seen, error: unknown): void {
  if (seen.status === 200) seen.detail = String(error)
  if (seen.status === null) seen.problem = error instanceof OpenAI.APIConnectionTimeoutError ? 'hung' : 'unreachable'
}

/** A fetch that notes the bytes on the wire and passes them on unchanged. */
function watching(seen: Seen, reader: ResponseReader): typeof fetch {
  return async (...args) => {
    const response = await fetch(...args)
    seen.headAtMs = Date.now()
    seen.status = response.status
    seen.requestId = response.headers.get('x-request-id')
    if (response.status !== 200) noteRefusal(seen, await response.clone().text())
    if (response.status !== 200 || !response.body) return response
    const decoder = new TextDecoder()
    const watch = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        reader.push(decoder.decode(bytes, { stream: true }))
        controller.enqueue(bytes)
      },
    })
    return new Response(response.body.pipeThrough(watch), response)
  }
}
