/**
 * Relays a streamed answer event by event. Until the first content nothing is sent, so a failure before it can still
 * go to another target; a stream that stops without an end is a failure, never a good one.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import type { Exchange } from '../clients/exchange.ts'
import { BackendFault } from '../core/backend-fault.ts'
import { choicesAsked } from '../core/chat-chunk.ts'
import { scaleToWhole } from '../core/generated-text.ts'
import { createSseSplitter, EventTooLargeError, type SseEvent } from '../core/sse-events.ts'
import type { StreamReading } from '../dialects/dialect.ts'
import type { Target } from '../fleet.ts'
import type { Router } from '../router.ts'
import type { TokenCounter } from '../tokens/count-tokens.ts'
import { endWaiting, remainingMs, show, type Run } from './run.ts'

export async function relayStream(
  run: Run,
  target: Target,
  exchange: Exchange,
  { tokens, metrics }: Pick<Router, 'tokens' | 'metrics'>,
): Promise<TokenUsage> {
  const splitter = createSseSplitter()
  const reading = target.backend.dialect.readStream({
    includeUsage: run.header.includeUsage,
    choices: choicesAsked(run.body),
    created: Math.floor(Date.now() / 1_000),
  })
  const usage = () => usageOf(reading, run, tokens)
  let pending: Buffer[] = []

  async function relay(): Promise<void> {
    if (!run.shown && reading.begun) {
      endWaiting(run)
      exchange.extendBudget(remainingMs(run))
      show(run, 'text/event-stream', { target, usage })
    }
    if (!run.shown || pending.length === 0) return
    const bytes = pending.length === 1 ? pending[0]! : Buffer.concat(pending)
    pending = []
    metrics.chunk(performance.now() - exchange.receivedAt)
    await run.job.data(bytes)
  }

  try {
    while (!reading.done) {
      const piece = await exchange.read()
      for (const event of piece ? split(() => splitter.push(piece)) : splitter.end()) readInto(pending, reading, event)
      await relay()
      if (!piece) break
      if (reading.complete) exchange.expectEnd()
    }
  } catch (fault) {
    if (!(fault instanceof BackendFault)) throw fault
    // After the last finish reason only the goodbye is missing: the answer is whole.
    if (!reading.complete) {
      if (run.shown) await relay()
      throw fault
    }
    await relay()
  }
  if (!reading.begun || !reading.complete) throw new BackendFault('truncated', 'the stream stopped without an end')
  exchange.discard()
  return finish(run, reading, await usage())
}

function readInto(pending: Buffer[], reading: StreamReading, event: SseEvent): void {
  if (reading.done) return
  const bytes = reading.read(event)
  if (bytes) pending.push(bytes)
}

function split(push: () => SseEvent[]): SseEvent[] {
  try {
    return push()
  } catch (cause) {
    if (cause instanceof EventTooLargeError) throw new BackendFault('invalid_answer', cause.message, { cause })
    throw cause
  }
}

async function finish(run: Run, reading: StreamReading, usage: TokenUsage): Promise<TokenUsage> {
  if (run.shown) run.shown.usage = () => Promise.resolve(usage)
  if (run.header.includeUsage) {
    const chunk = reading.usageChunk(usage)
    if (chunk.length > 0) await run.job.data(chunk)
  }
  return usage
}

async function usageOf(reading: StreamReading, run: Run, tokens: TokenCounter): Promise<TokenUsage> {
  return (
    reading.usage ?? {
      promptTokens: reading.promptTokens ?? run.header.promptTokensEstimate,
      completionTokens: scaleToWhole(reading.text, await tokens.count(reading.text.kept)),
      cachedTokens: 0,
      reasoningTokens: 0,
      estimated: true,
    }
  )
}
