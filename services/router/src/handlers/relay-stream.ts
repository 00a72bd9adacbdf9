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
  router: Pick<RouterContext, 'tokens' | 'metrics' | 'responseMemory'>,
  onContent: () => void,
): Promise<TokenUsage> {
  const { target, exchange } = call
  const reading = routeOf(target, run.header).dialect.readStream({
    includeUsage: run.header.includeUsage,
    choices: clientDialect(run.header) === 'chat' ? choicesRequested(run.body) : 1,
    identity: identityOf(run, target),
    echo: call.echo,
  })
  const counted = () => usageOf(reading, run, router.tokens)
  const usage = async () => withSound(await counted(), run)
  call.usage = usage
  const stream = new RelayedStream(run, call, reading, router, () => {
    sendHead(run, call, 'text/event-stream', usage)
    exchange.begin(remainingMs(run))
    onContent()
  })
  const { progress } = reading
  try {
    await stream.relay()
  } catch (fault) {
    if (!(fault instanceof BackendFault)) throw fault
    // After the last finish reason only the goodbye is missing: the response is whole, unless the backend says that it is not.
    if (!progress.complete || fault.kind === 'error_event') {
      if (run.delivered) await stream.sendReady()
      throw fault
    }
  }
  if (!progress.begun || !progress.complete) {
    if (run.delivered) await stream.sendReady()
    throw new BackendFault('truncated', 'the stream stopped without an end')
  }
  exchange.discard()
  const finalUsage = await counted()
  if (run.job.aborted) throw run.job.aborted
  stream.sendLast(run.header.includeUsage ? reading.usageChunk(finalUsage) : null)
  const billed = withSound(finalUsage, run)
  run.delivered!.usage = reporting(billed)
  return billed
}

/**
 * The response on its way through the router. Each piece of the backend is read and sent on before the next: at once, where
 * neither its reader nor its memory makes it wait.
 */
class RelayedStream {
  readonly #run: BoundJob
  readonly #call: Call
  readonly #reading: StreamReading
  readonly #tokens: TokenCounter
  readonly #metrics: RouterContext['metrics']
  readonly #onFirst: () => void
  readonly #parser = createSseParser()
  readonly #limit: OutputLimit
  readonly #memory: LargeEventMemory
  /** Read, and not yet sent on. */
  #ready: Buffer[] = []
  /** From the last finish reason on. */
  readonly #kept: Buffer[] = []
  #isHeld = false

  constructor(
    run: BoundJob,
    call: Call,
    reading: StreamReading,
    { tokens, metrics, responseMemory }: Pick<RouterContext, 'tokens' | 'metrics' | 'responseMemory'>,
    onFirst: () => void,
  ) {
    this.#run = run
    this.#call = call
    this.#reading = reading
    this.#tokens = tokens
    this.#metrics = metrics
    this.#onFirst = onFirst
    this.#limit = new OutputLimit(run.header.mostOutputTokens)
    this.#memory = memoryForLargeEvents(run, responseMemory)
  }

  /** Resolves where the backend has said all that matters, or says nothing more. */
  async relay(): Promise<void> {
    try {
      const isAtEnd = await this.#call.exchange.pass((piece) =>
        afterwards(this.#read(split(() => this.#parser.push(piece))), this.#sendOn),
      )
      if (isAtEnd) await this.#read(this.#parser.end())
    } finally {
      this.#memory.leave()
    }
  }

  readonly #sendOn = (): boolean | Promise<boolean> =>
    !this.#reading.progress.done && afterwards(this.sendReady(), this.#makeSpace)

  readonly #makeSpace = (): boolean | Promise<boolean> =>
    afterwards(this.#memory.reserve(this.#parser.heldBytes), this.#wantsMore)

  readonly #wantsMore = (): boolean => {
    if (this.#reading.progress.complete) this.#call.exchange.expectEnd()
    return bytesIn(this.#kept) < MOST_KEPT_BYTES
  }

  /** The promise of the count, where tokens have to be counted first: most responses never come there. */
  #read(events: readonly SseEvent[], from = 0): Promise<void> | undefined {
    for (let at = from; at < events.length; at++) {
      const event = events[at]!
      this.#readInto(event)
      const { begun, complete, text } = this.#reading.progress
      this.#limit.note(event.data.length, text.length)
      if (!begun || complete) continue
      if (this.#limit.isPassed) this.#cut()
      else if (this.#limit.needsCount) return this.#cutWhereTooLong().then(() => this.#read(events, at + 1))
    }
    return undefined
  }

  #readInto(event: SseEvent): void {
    const { progress } = this.#reading
    if (progress.done) return
    const written = this.#reading.read(event)
    if (!written) return
    if (progress.complete) this.#kept.push(written)
    else if (progress.begun || bytesIn(this.#ready) + written.length <= MOST_BEFORE_CONTENT_BYTES)
      this.#ready.push(written)
  }

  /** The backend goes on behind its cap. */
  async #cutWhereTooLong(): Promise<void> {
    const { text } = this.#reading.progress
    if (this.#limit.isTooMany(await tokensOf(text, text.length, this.#tokens))) this.#cut()
  }

  /** Ends the response in its backend's place. */
  #cut(): void {
    this.#kept.push(this.#reading.cut())
    this.#call.exchange.abort(new Error('the answer is longer than its cap'))
  }

  /** Sends the events that need not wait for the end. */
  sendReady(): Promise<void> | undefined {
    this.#noteHeld()
    if (!this.#reading.progress.begun || this.#ready.length === 0) return undefined
    const pieces = this.#ready
    this.#ready = []
    return this.#send(pieces)
  }

  /** Nobody waits for it, however slow the reader is: the job's end goes out with it. */
  sendLast(usageChunk: Buffer | null): void {
    if (usageChunk) this.#kept.push(usageChunk)
    this.#send([...this.#ready, ...this.#kept])?.catch(() => {})
  }

  /** A response that its client gets whole: its backend has begun, and another target could still serve it. */
  #noteHeld(): void {
    const { begun, text } = this.#reading.progress
    if (this.#isHeld || begun || text.length === 0) return
    this.#isHeld = true
    this.#call.exchange.listen()
  }

  #send(pieces: Buffer[]): Promise<void> | undefined {
    if (!this.#run.delivered) {
      endWaiting(this.#run, this.#call)
      this.#onFirst()
    }
    this.#metrics.chunk(performance.now() - this.#call.exchange.receivedAtMs)
    return this.#run.job.data(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
  }
}

/** Goes on at once where there is nothing to wait for: a promise for each chunk is a part of its price. */
function afterwards<Result>(
  wait: Promise<void> | undefined,
  next: () => Result | Promise<Result>,
): Result | Promise<Result> {
  return wait === undefined ? next() : wait.then(next)
}

function bytesIn(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0)
}

type LargeEventMemory = ReturnType<typeof memoryForLargeEvents>

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
