/**
 * Sends the same request by the Responses API or the Messages API. Reads the response from the wire, and records the
 * user's view in the terms of chat.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { type Requested, type RequestOptions, requestChat, nothingSeen, QUESTION, type Seen } from './request-chat.ts'

export function requestBy(dialect: ClientDialect, options: RequestOptions): Requested {
  if (dialect === 'chat') return requestChat(options)
  const seen = nothingSeen()
  return { seen, over: run(FORMS[dialect], options, seen) }
}

interface Form {
  path: string
  body(content: string): object
  /** Records the content that an event, or (`type` as in its JSON) a plain response, shows its user. */
  take(seen: Seen, event: Json): void
}

// Read as it is on the wire.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const FORMS: Record<Exclude<ClientDialect, 'chat'>, Form> = {
  responses: {
    path: '/v1/responses',
    body: (content) => ({ input: content }),
    take(seen, event) {
      const { type, delta, response = event } = event
      if (type === 'response.output_text.delta') seen.text += delta
      if (type === 'error' || type === 'response.failed') seen.errorEvent = true
      if (response.object !== 'response' || !['completed', 'incomplete'].includes(response.status)) return
      seen.done = true
      seen.finishReason = response.incomplete_details?.reason ?? 'stop'
      seen.usage = { prompt_tokens: response.usage.input_tokens, completion_tokens: response.usage.output_tokens }
      if (type === undefined)
        seen.text = response.output
          .flatMap((item: Json) => item.content ?? [])
          .map((part: Json) => part.text)
          .join('')
    },
  },
  messages: {
    path: '/v1/messages',
    body: (content) => ({ max_tokens: 8_192, messages: [{ role: 'user', content }] }),
    take(seen, event) {
      switch (event.type) {
        case 'content_block_delta':
          seen.text += event.delta.text ?? ''
          break
        case 'message_delta':
          seen.finishReason = event.delta.stop_reason === 'end_turn' ? 'stop' : event.delta.stop_reason
          seen.usage = { prompt_tokens: event.usage.input_tokens, completion_tokens: event.usage.output_tokens }
          break
        case 'message_stop':
          seen.done = true
          break
        case 'error':
          seen.errorEvent = true
          break
        case 'message':
          seen.done = true
          seen.text = event.content.map((block: Json) => block.text ?? '').join('')
          seen.finishReason = event.stop_reason === 'end_turn' ? 'stop' : event.stop_reason
          seen.usage = { prompt_tokens: event.usage.input_tokens, completion_tokens: event.usage.output_tokens }
      }
    },
  },
}

async function run(form: Form, options: RequestOptions, seen: Seen): Promise<Seen> {
  const { url, key, model, stream, signal, content = QUESTION } = options
  try {
    const response = await fetch(url + form.path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream, ...form.body(content) }),
      ...(signal && { signal }),
    })
    seen.status = response.status
    seen.requestId = response.headers.get('x-request-id')
    if (response.status !== 200) {
      seen.refusal = await response.json()
      throw new Error(`refused with ${response.status}`)
    }
    if (stream) await readEvents(response, options, form, seen)
    else form.take(seen, await response.json())
    if (seen.errorEvent) throw new Error('an error event')
    seen.complete = seen.done && seen.finishReason !== null
  } catch (error) {
    seen.error = error
  }
  return seen
}

async function readEvents(response: Response, { onBegun }: RequestOptions, form: Form, seen: Seen): Promise<void> {
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
      form.take(seen, JSON.parse(data))
      if (!hadText && seen.text !== '') onBegun?.()
    }
  }
}
