/**
 * Relays a streamed response event by event. Before the first content the router sends nothing, so a failure can still
 * go to another target. A stream that stops without an end is a failure, never a good one.
 *
 * The last finish reason is kept until the backend has ended, and goes out together with the job's end. So a client
 * that has it has a whole response with its usage, even if this process dies in the next moment.
 */

import { MOST_TOKENS, type TokenUsage } from '@gateway/contracts/usage'
import { FREE_BYTES, type ResponseMemory, type HeldResponse } from '../response-memory.ts'
import { BackendFault } from '../core/backend-fault.ts'
import { choicesRequested } from '../core/chat-chunk.ts'
import { OutputLimit } from '../core/output-limit.ts'
import { createSseParser, EventTooLargeError, type SseEvent } from '@gateway/sse/parse-events'
import { scaleToInteger, type GeneratedText, type StreamReading } from '../dialects/dialect.ts'
import { clientDialect, routeOf } from '../backend-registry.ts'
import type { RouterContext } from '../router-context.ts'
import type { TokenCounter } from '../tokens/count-tokens.ts'
import {
  endWaiting,
  estimatedUsage,
  identityOf,
  remainingMs,
  sendHead,
  reporting,
  withCalls,
  withSound,
  type BoundJob,
  type Call,
  type JobContext,
} from '../job-context.ts'

/** The router does not wait for more bytes than this after the last finish reason. */
const MOST_KEPT_BYTES = 64 * 1024
/** Chunks without content beyond this, before the first content, are left out: they repeat the first one. */
const MOST_BEFORE_CONTENT_BYTES = 64 * 1024

export async function relayStream(
  run: BoundJob,
  call: Call,
  { tokens, metrics, responseMemory }: Pick<RouterContext, 'tokens' | 'metrics' | 'responseMemory'>,
  onContent: () => void,
): Promise<TokenUsage> {
  const { target, exchange } = call
  const parser = createSseParser()
  const reading = routeOf(target, run.header).dialect.readStream({
    includeUsage: run.header.includeUsage,
    choices: clientDialect(run.header) === 'chat' ? choicesRequested(run.body) : 1,
    identity: identityOf(run, target),
    echo: call.echo,
  })
  const counted = () => usageOf(reading, run, tokens)
  const usage = async () => withSound(await counted(), run)
  call.usage = usage
  const unsent: Unsent = { ready: [], kept: [] }
  const heldMemory = memoryForLargeEvents(run, responseMemory)
  const limit = new OutputLimit(run.header.mostOutputTokens)
  let isHeld = false

  /** True if the backend goes on behind its cap, or without any bound. */
  async function isEnough(): Promise<boolean> {
    const { text, begun, complete } = reading.progress
    if (!begun || complete) return false
    return limit.isPassed || limit.isTooMany(await tokensOf(text, text.length, tokens))
  }

  /** Ends the response in its backend's place. */
  function cut(): void {
    unsent.kept.push(reading.cut())
    exchange.abort(new Error('the answer is longer than its cap'))
  }

  function send(pieces: Buffer[]): Promise<void> {
    if (!run.delivered) {
      endWaiting(run, call)
      sendHead(run, call, 'text/event-stream', usage)
      exchange.begin(remainingMs(run))
      onContent()
    }
    metrics.chunk(performance.now() - exchange.receivedAtMs)
    return run.job.data(joined(pieces))
  }

  /** A response that its client gets whole: its backend has begun, and another target could still serve it. */
  function noteHeld(): void {
    if (isHeld || reading.progress.begun || reading.progress.text.length === 0) return
    isHeld = true
    exchange.listen()
  }

  async function relay(): Promise<void> {
    noteHeld()
    if (reading.progress.begun && unsent.ready.length > 0) await send(unsent.ready.splice(0))
  }

  try {
    while (!reading.progress.done && bytesIn(unsent.kept) < MOST_KEPT_BYTES) {
      const piece = await exchange.read()
      for (const event of piece ? split(() => parser.push(piece)) : parser.end()) {
        readInto(unsent, reading, event)
        limit.note(event.data.length, reading.progress.text.length)
        // Most responses never come there.
        if ((limit.isPassed || limit.needsCount) && (await isEnough())) cut()
      }
      if (!piece || reading.progress.done) break
      await relay()
      const wait = heldMemory.reserve(parser.heldBytes)
      if (wait) await wait
      if (reading.progress.complete) exchange.expectEnd()
    }
  } catch (fault) {
    if (!(fault instanceof BackendFault)) throw fault
    // After the last finish reason only the goodbye is missing: the response is whole, unless the backend says that it is not.
    if (!reading.progress.complete || fault.kind === 'error_event') {
      if (run.delivered) await relay()
      throw fault
    }
  } finally {
    heldMemory.leave()
  }
  if (!reading.progress.begun || !reading.progress.complete) {
    if (run.delivered) await relay()
    throw new BackendFault('truncated', 'the stream stopped without an end')
  }
  exchange.discard()
  const finalUsage = await counted()
  if (run.job.aborted) throw run.job.aborted
  if (run.header.includeUsage) unsent.kept.push(reading.usageChunk(finalUsage))
  // Not waited for, however slow the reader is: the end goes out with them.
  send([...unsent.ready, ...unsent.kept]).catch(() => {})
  const billed = withSound(finalUsage, run)
  run.delivered!.usage = reporting(billed)
  return billed
}

/** Bytes that the router has read and not yet sent on. */
interface Unsent {
  ready: Buffer[]
  /** From the last finish reason on. */
  kept: Buffer[]
}

function readInto({ ready, kept }: Unsent, reading: StreamReading, event: SseEvent): void {
  const { progress } = reading
  if (progress.done) return
  const written = reading.read(event)
  if (!written) return
  if (progress.complete) kept.push(written)
  else if (progress.begun || bytesIn(ready) + written.length <= MOST_BEFORE_CONTENT_BYTES) ready.push(written)
}

function bytesIn(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

function joined(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

/** A large event takes its bytes from the memory for responses until it is whole. */
function memoryForLargeEvents(run: JobContext, memory: ResponseMemory) {
  let held: HeldResponse | null = null
  let heldBytes = 0
  const waitLimit = () => ({ withinMs: remainingMs(run), signal: run.job.signal })

  function leave(): void {
    held?.[Symbol.dispose]()
    held = null
    heldBytes = 0
  }

  return {
    reserve(bytes: number): Promise<void> | undefined {
      if (bytes < heldBytes) leave()
      if (bytes <= FREE_BYTES) return undefined
      held ??= memory.open()
      const more = bytes - heldBytes
      heldBytes = bytes
      return held.add(more, waitLimit)
    },
    leave,
  }
}

function split(push: () => SseEvent[]): SseEvent[] {
  try {
    return push()
  } catch (cause) {
    if (cause instanceof EventTooLargeError) throw new BackendFault('invalid_answer', cause.message, { cause })
    throw cause
  }
}

/** The backend's own figures, as far as they count the prompt and the text: some servers write them before the response. */
async function usageOf({ progress }: StreamReading, run: JobContext, tokens: TokenCounter): Promise<TokenUsage> {
  const { usage, usageAt, prompt, text, toolCalls } = progress
  const counted = usage !== null && usage.completionTokens > 0 ? usageAt : 0
  const uncounted = text.length - counted
  if (usage !== null && usage.promptTokens > 0 && uncounted === 0) return usage
  const completionTokens = (usage?.completionTokens ?? 0) + (await tokensOf(text, uncounted, tokens))
  return withCalls(estimatedUsage(run, usage ?? prompt, Math.min(MOST_TOKENS, completionTokens)), { toolCalls })
}

/** Counts the tokens of so many characters of the text. */
async function tokensOf(text: GeneratedText, characters: number, tokens: TokenCounter): Promise<number> {
  if (characters === 0) return 0
  const all = scaleToInteger(text, await tokens.count(text.kept))
  return Math.round((all * characters) / text.length)
}
