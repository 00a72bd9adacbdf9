/**
 * One streamed answer, through the same endpoint that every client uses.
 */

import { chatChunk } from '@gateway/contracts/answers'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import * as z from 'zod'
import { brokenOff, explainBrokenStream, streamError, unreadable } from '../core/explain-problem.ts'
import { GatewayProblem, send, type Caller } from './ask.ts'

export interface ChatQuestion {
  model: string
  messages: { role: 'user' | 'assistant' | 'system'; content: string }[]
}

/** What the answer's headers say. */
export interface AnswerHead {
  upstream: string | null
  /** The lane that Auto chose, and why: `svc-research; reason=time-sensitive`. */
  smartRoute: string | null
  requestId: string | null
}

export interface AnswerListener {
  onHead(head: AnswerHead): void
  onText(text: string): void
  /** What the model thinks before it answers. */
  onThought(text: string): void
}

export interface AnswerTotals {
  model: string | null
  finishReason: string | null
  tokens: { promptTokens: number; completionTokens: number; cachedTokens: number } | null
}

/** What is shown of a chunk, so that a backend that leaves out the rest is not held up. A chunk may have `error: null`. */
const shown = chatChunk.pick({ model: true, choices: true, usage: true }).partial({ model: true })
const event = z.union([shown, streamError])

export async function streamChat(
  caller: Caller,
  question: ChatQuestion,
  signal: AbortSignal,
  listener: AnswerListener,
): Promise<AnswerTotals> {
  const body = { ...question, stream: true, stream_options: { include_usage: true } }
  const response = await send(caller, '/v1/chat/completions', { method: 'POST', body, signal })
  const header = (name: string) => response.headers.get(name)
  listener.onHead({
    upstream: header('x-svc-upstream'),
    smartRoute: header('x-svc-smart-route'),
    requestId: header('x-request-id'),
  })
  const totals: AnswerTotals = { model: null, finishReason: null, tokens: null }
  for await (const data of eventsOf(response, signal)) {
    if (data === '[DONE]') return totals
    take(totals, data, listener)
  }
  throw new GatewayProblem(brokenOff)
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
    throw cause instanceof GatewayProblem ? cause : new GatewayProblem(brokenOff, { cause })
  }
}

function take(totals: AnswerTotals, data: string, listener: AnswerListener): void {
  const parsed = event.safeParse(parseJson(data))
  if (!parsed.success) throw new GatewayProblem(unreadable, { cause: parsed.error })
  if (!('choices' in parsed.data)) throw new GatewayProblem(explainBrokenStream(parsed.data))
  const { model, choices, usage } = parsed.data
  const choice = choices[0]
  totals.model = model ?? totals.model
  totals.finishReason = choice?.finish_reason ?? totals.finishReason
  if (choice?.delta.reasoning_content) listener.onThought(choice.delta.reasoning_content)
  if (choice?.delta.content) listener.onText(choice.delta.content)
  if (usage) {
    const { prompt_tokens, completion_tokens, prompt_tokens_details } = usage
    const cachedTokens = prompt_tokens_details?.cached_tokens ?? 0
    totals.tokens = { promptTokens: prompt_tokens, completionTokens: completion_tokens, cachedTokens }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
