/**
 * Sends the same request by the Responses API or the Messages API. Reads the response from the wire, and records the
 * user's view in the terms of chat.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import type { ClientFixture, ResponsePart } from '@gateway/testing/client-fixture'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { type Requested, type RequestOptions, requestChat, nothingSeen, QUESTION, type Seen } from './request-chat.ts'

export function requestBy(dialect: ClientDialect, options: RequestOptions): Requested {
  if (dialect === 'chat') return requestChat(options)
  const seen = nothingSeen()
  return { seen, over: run(CLIENTS[dialect], options, seen) }
}

/** The Messages API requires a cap. */
const CAP_TOKENS = 8_192

function take(seen: Seen, part: ResponsePart): void {
  seen.text += part.text
  if (part.errorCode !== undefined) seen.errorEvent = true
  if (part.isLast) seen.done = true
  seen.finishReason = part.finishReason ?? seen.finishReason
  if (!part.usage) return
  seen.usage = { prompt_tokens: part.usage.promptTokens, completion_tokens: part.usage.completionTokens }
}

async function run(client: ClientFixture, options: RequestOptions, seen: Seen): Promise<Seen> {
  const { url, key, model, stream, signal, content = QUESTION } = options
  try {
    const response = await fetch(url + client.path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream, ...client.body(content, CAP_TOKENS) }),
      ...(signal && { signal }),
    })
    seen.status = response.status
    seen.requestId = response.headers.get('x-request-id')
    if (response.status !== 200) {
      seen.refusal = await response.json()
      throw new Error(`refused with ${response.status}`)
    }
    if (stream) await readEvents(response, options, client, seen)
    else take(seen, client.readPlain(await response.json()))
    if (seen.errorEvent) throw new Error('an error event')
    seen.complete = seen.done && seen.finishReason !== null
  } catch (error) {
    seen.error = error
  }
  return seen
}

async function readEvents(
  response: Response,
  { onBegun }: RequestOptions,
  client: ClientFixture,
  seen: Seen,
): Promise<void> {
  let held = ''
  let lastAtMs: number | null = null
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
    const nowMs = performance.now()
    if (lastAtMs !== null) seen.longestPauseMs = Math.max(seen.longestPauseMs, nowMs - lastAtMs)
    lastAtMs = nowMs
    const events = (held + piece).split('\n\n')
    held = events.pop()!
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1]
      if (data === undefined || data === '[DONE]') continue
      const hadText = seen.text !== ''
      take(seen, client.readEvent(data))
      if (!hadText && seen.text !== '') onBegun?.()
    }
  }
}
