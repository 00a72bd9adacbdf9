/**
 * Serves a client of another dialect by way of chat. A client's adapter translates its request into a chat completion; the dialect
 * `chat-to-<target>` writes that for the backend. The response takes the same two steps back. So a client's dialect has one adapter,
 * `<client>-to-chat`, for every target that does not speak it.
 */

import { isObject, parseExactly, type JsonObject, objectsOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import type { SseEvent } from '@gateway/sse/parse-events'
import { choicesOf } from '../core/chat-chunk.ts'
import type { Effort } from '../core/effort.ts'
import { messagesFor } from '../core/translated-messages.ts'
import { STATE, withOwnStates } from '../core/reasoning-state.ts'
import type { StateSeal } from '../core/state-seal.ts'
import type { Identity } from '../core/complete-response.ts'
import { plain } from '../vendors/plain.ts'
import { statesFor } from './sealed-chat.ts'
import type {
  BackendRequest,
  ChatDialect,
  ChatReading,
  Dialect,
  PlainResponse,
  Progress,
  ClientRequest,
  StreamOptions,
  StreamReading,
} from './dialect.ts'

/** A client's dialect, as chat sees it. `Echo` holds the parts of a request that its response repeats. */
export interface ClientAdapter<Echo> {
  /**
   * `states` opens the state that the client has kept: a message holds it in the member `STATE`. `efforts` are those that
   * the target is known to take; undefined where nobody knows.
   */
  writeChat(request: JsonObject, states?: StateSeal, efforts?: readonly Effort[]): WrittenChat<Echo>
  /** The client's names of chat's parameters, where they differ. */
  names: Readonly<Record<string, string>>
  readCompletion(completion: JsonObject, usage: TokenUsage | null, echo: Echo, identity: Identity): JsonObject
  /** The client's response does not show the generated text, which `textOf` cannot find in it then. */
  hidesText?(echo: Echo): boolean
  textOf(response: JsonObject): string
  withUsage(response: JsonObject, usage: TokenUsage): JsonObject
  openStream(echo: Echo, options: StreamOptions): ClientStream
}

export interface WrittenChat<Echo> {
  chat: JsonObject
  dropped: string[]
  echo: Echo
}

export interface ClientStream {
  /** The client gets nothing before `close`, so the response begins with its end. */
  readonly isHeld?: boolean
  /** Returns the client's events for a chunk, or null where it has none. */
  take(chunk: JsonObject): Buffer | null
  /** Returns the remaining events, the terminal event last. */
  close(usage: TokenUsage): Buffer
}

/** The echo of the second translation. */
interface OfTarget {
  ofTarget: unknown
}

export function viaChat<Echo>(adapter: ClientAdapter<Echo>, target: ChatDialect): Dialect {
  return {
    headers: (apiKey) => target.headers(apiKey),
    request: (clientRequest) => writeRequest(adapter, target, clientRequest),
    readBackendResponse(kind, bytes, identity, echo) {
      const own = echo as Echo & OfTarget
      const { json, usage } = target.readBackendResponse(kind, bytes, identity, own.ofTarget)
      const response = plainResponse(adapter.readCompletion(json, usage, own, identity), usage)
      return adapter.hidesText?.(own) ? { ...response, hiddenText: target.textOf(json) } : response
    },
    textOf: (response) => adapter.textOf(response),
    withUsage: ({ json }, usage) => plainResponse(adapter.withUsage(json, usage), usage).bytes,
    readStream(options) {
      const own = options.echo as Echo & OfTarget
      const inner = target.readStream({ ...options, includeUsage: false, echo: own.ofTarget })
      return new StreamOverChat(inner, adapter.openStream(own, options))
    },
    readErrorBody: (body) => target.readErrorBody(body),
  }
}

function writeRequest<Echo>(
  adapter: ClientAdapter<Echo>,
  target: ChatDialect,
  clientRequest: ClientRequest,
): BackendRequest {
  const request = parseExactly(clientRequest.body.toString('utf8')) as JsonObject
  const { chat, dropped, echo } = adapter.writeChat(request, clientRequest.states, clientRequest.efforts)
  const { messages: turns, ...members } = chat
  const { profile = plain } = clientRequest
  const own = withOwnStates(objectsOf(turns), clientRequest.stateKind)
  const { messages, turnStates } = statesFor(target, messagesFor(profile.messages, own), profile)
  // The part that grows comes last: prompt caches compare requests from their beginning.
  const asChat = Buffer.from(JSON.stringify({ ...members, messages }))
  const written = target.request({
    ...clientRequest,
    body: asChat,
    names: ['messages', ...Object.keys(members).filter((name) => members[name] !== undefined)],
    hosted: undefined,
    // No adapter writes the members of a vendor's state.
    alienStates: [],
    ...(turnStates && { turnStates }),
  })
  const names = written.dropped.map((name) => adapter.names[name] ?? name)
  return {
    ...written,
    dropped: [...new Set([...dropped, ...names])].toSorted(),
    asChat,
    echo: { ...echo, ofTarget: written.echo },
  }
}

function plainResponse(json: JsonObject, usage: TokenUsage | null): PlainResponse {
  return { bytes: Buffer.from(JSON.stringify(json)), json, usage }
}

const NOTHING = Buffer.alloc(0)

/** The same, but for its begin. */
function heldProgress(inner: Readonly<Progress>): Readonly<Progress> {
  const begun = { get: () => inner.complete }
  return Object.create(inner, { begun }) as Readonly<Progress>
}

class StreamOverChat implements StreamReading {
  readonly progress: StreamReading['progress']
  #inner: ChatReading
  #adapter: ClientStream

  constructor(inner: ChatReading, adapter: ClientStream) {
    this.progress = adapter.isHeld ? heldProgress(inner.progress) : inner.progress
    this.#inner = inner
    this.#adapter = adapter
  }

  read(event: SseEvent): Buffer | null {
    const chunks = this.#inner.chunks(event)
    if (chunks.length === 1) return this.#take(chunks[0]!)
    const written = chunks.flatMap((chunk) => this.#take(chunk) ?? [])
    return written.length > 0 ? Buffer.concat(written) : null
  }

  /** The client gets the state that a target hides from readers: it is content. */
  #take(chunk: JsonObject): Buffer | null {
    const written = this.#adapter.take(chunk)
    const { progress } = this.#inner
    if (written !== null && !progress.begun) progress.begun = holdsState(chunk)
    return written
  }

  usageChunk(usage: TokenUsage): Buffer {
    return this.#adapter.close(usage)
  }

  cut(): Buffer {
    return this.#adapter.take(this.#inner.cutChunk()) ?? NOTHING
  }
}

function holdsState(chunk: JsonObject): boolean {
  const delta = choicesOf(chunk)[0]?.delta
  return isObject(delta) && delta[STATE] !== undefined
}
