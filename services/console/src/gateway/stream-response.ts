/**
 * Streams one response through the same endpoints that every client uses.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { interrupted, explainBrokenStream, streamError, unreadable } from '../core/explain-problem.ts'
import { GatewayProblem, send, type Caller } from './send-request.ts'
import type { ResponseTokens } from '../core/charge.ts'
import { conversationApis, type ConversationRequest, type Received } from './conversation-apis.ts'

/** Facts from the response's headers. */
export interface ResponseHead {
  upstream: string | null
  /** The lane that Auto chose, and why: `svc-research; reason=time-sensitive`. */
  smartRoute: string | null
  requestId: string | null
}

export interface ResponseListener {
  onHead(head: ResponseHead): void
  onText(text: string): void
  /** The model's reasoning, which comes before its text. */
  onThought(text: string): void
}

export interface ResponseTotals {
  model: string | null
  finishReason: string | null
  tokens: ResponseTokens | null
}

export async function streamResponse(
  caller: Caller,
  dialect: ClientDialect,
  request: ConversationRequest,
  signal: AbortSignal,
  listener: ResponseListener,
): Promise<ResponseTotals> {
  const api = conversationApis[dialect]
  const response = await send(caller, api.path, { method: 'POST', body: api.body(request), signal })
  const header = (name: string) => response.headers.get(name)
  listener.onHead({
    upstream: header('x-svc-upstream'),
    smartRoute: header('x-svc-smart-route'),
    requestId: header('x-request-id'),
  })
  const totals: ResponseTotals = { model: null, finishReason: null, tokens: null }
  for await (const data of eventsOf(response, signal)) {
    const received = read(dialect, data)
    take(totals, received, listener)
    if (received.isLast) return totals
  }
  throw new GatewayProblem(interrupted)
}

async function* eventsOf(response: Response, signal: AbortSignal): AsyncGenerator<string> {
  const text = response.body!.pipeThrough(new TextDecoderStream())
  const reader = text.pipeThrough(new EventSourceParserStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value.data
    }
  } catch (cause) {
    if (signal.aborted) throw cause
    throw cause instanceof GatewayProblem ? cause : new GatewayProblem(interrupted, { cause })
  }
}

function read(dialect: ClientDialect, data: string): Received {
  const said = data === '[DONE]' ? data : parseJson(data)
  const parsed = conversationApis[dialect].event.safeParse(said)
  if (parsed.success) return parsed.data
  const failed = streamError.safeParse(said)
  if (failed.success) throw new GatewayProblem(explainBrokenStream(failed.data))
  throw new GatewayProblem(unreadable, { cause: parsed.error })
}

function take(
  totals: ResponseTotals,
  { text, thought, model, finishReason, tokens }: Received,
  listener: ResponseListener,
): void {
  totals.model = model ?? totals.model
  totals.finishReason = finishReason ?? totals.finishReason
  if (tokens) totals.tokens = { ...NO_TOKENS, ...totals.tokens, ...tokens }
  if (thought) listener.onThought(thought)
  if (text) listener.onText(text)
}

const NO_TOKENS: ResponseTokens = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 }

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
