/**
 * What a dialect is: pure translation between a client's wire format, which travels on the bus, and a backend's own.
 * Usage is one of its outputs. No dialect does I/O, keeps time or knows of other targets.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import type { TargetForm } from '../core/target-form.ts'
import type { JsonObject } from '../core/plain-answer.ts'
import type { Identity } from '../core/whole-record.ts'
import type { SseEvent } from '../core/sse-events.ts'
import { noText, type GeneratedText } from '../core/generated-text.ts'

export interface Dialect {
  /** Headers that carry the credential and whatever the API demands. */
  headers(apiKey: string | undefined): Record<string, string>
  request(question: Question): BackendRequest
  /** A whole answer as the client's JSON. Throws `BackendFault` when it is none. */
  readAnswer(kind: JobKind, bytes: Buffer, identity: Identity, echo?: unknown): PlainAnswer
  /** chat: what was generated, for counting tokens where the backend did not. */
  textOf(answer: JsonObject): string
  /** The bytes of an answer that lacks its usage, with one. */
  withUsage(answer: PlainAnswer, usage: TokenUsage, kind: JobKind): Buffer
  readStream(options: StreamOptions): StreamReading
  /** A backend's error body in OpenAI's shape, whatever the client's dialect; null when it is not JSON. */
  readErrorBody(body: string): string | null
}

export interface Question {
  kind: JobKind
  /** The client's JSON object, in its dialect, without `model`, `stream` and `stream_options`. */
  body: Uint8Array
  model: string
  stream: boolean
  /** Set where the client gave no cap and the lane has one. */
  maxTokens: number | undefined
  /** embeddings: how many the target must be asked for. */
  dimensions?: number | undefined
  /** What the target refuses. */
  form: TargetForm
  /** The target's, for rules of one vendor; empty where it is unknown. */
  vendor?: string
  /** chat: the members of a request that the target takes, where it ignores all others. */
  taken?: ReadonlySet<string> | undefined
}

export interface BackendRequest {
  /** Below the backend's base address. */
  path: string
  body: Buffer
  /** The client's parameters that are not in it. */
  dropped: string[]
  /** The request as a chat completion, before it was fitted to the target, where the client asked in another dialect. */
  asChat?: Uint8Array
  /** What the answer needs of the request. Only the dialect looks into it. */
  echo?: unknown
}

export interface PlainAnswer {
  bytes: Buffer
  json: JsonObject
  usage: TokenUsage | null
}

export interface StreamOptions {
  includeUsage: boolean
  /** Choices that the request asks for: all must finish. */
  choices: number
  identity: Identity
  /** The edge's, for what is told before the backend has counted. */
  promptTokensEstimate?: number
  /** Of the request. */
  echo?: unknown
}

/** What the events of a stream have told of its answer so far. */
export interface Progress {
  /** Content has come, or the answer has ended properly without any. A bare role is no content. */
  begun: boolean
  /** Every choice has its finish reason, or the backend has said that it is done. */
  complete: boolean
  /** Nothing more is to come. */
  done: boolean
  usage: TokenUsage | null
  /** Characters of the text that were there when the usage was told. Those behind them it does not count. */
  usageAt: number
  /** Where the backend tells it ahead of the whole usage. */
  prompt: TokenUsage | null
  /** What has been generated so far, for counting tokens where the backend did not. */
  readonly text: GeneratedText
}

export function noProgress(): Progress {
  return { begun: false, complete: false, done: false, usage: null, usageAt: 0, prompt: null, text: noText() }
}

export function noteUsage(progress: Progress, usage: TokenUsage | null): void {
  progress.usage = usage
  progress.usageAt = progress.text.length
}

/** One stream being read, event by event. */
export interface StreamReading {
  readonly progress: Readonly<Progress>
  /** The bytes to pass on for this event, or null. Throws `BackendFault` when the event is no answer. */
  read(event: SseEvent): Buffer | null
  /**
   * What follows the backend's last event: a usage chunk that the client asked for and the backend did not send; in other
   * dialects than chat, the events that carry the usage, of which the terminal one is the last.
   */
  usageChunk(usage: TokenUsage): Buffer
}

/** A stream that becomes chat: another dialect may take its chunks before they are bytes. */
export interface ChatReading extends StreamReading {
  /** The chunks that `read` would write. */
  chunks(event: SseEvent): JsonObject[]
}

/** Of clients that speak chat. */
export interface ChatDialect extends Dialect {
  readStream(options: StreamOptions): ChatReading
}
