/**
 * A dialect is pure translation between a client's wire format, which travels on the bus, and a backend's own. Usage is
 * one of its outputs. No dialect does I/O, keeps time or knows of other targets.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import { MOST_TOOLS, TOOL_NAME, type ToolCalls } from '../core/billed-beside.ts'
import type { Effort } from '../core/effort.ts'
import type { HostedToolRequest } from '../core/hosted-tools.ts'
import type { ParameterSupport } from '../core/parameter-support.ts'
import type { JsonObject } from '@gateway/contracts/json'
import type { Identity } from '../core/complete-response.ts'
import type { RefusedFeatures } from '../core/refused-features.ts'
import type { SseEvent } from '@gateway/sse/parse-events'
import type { ChatStateForm, TurnStates } from '../core/reasoning-state.ts'
import type { StateSeal } from '../core/state-seal.ts'
import type { ParameterPolicy } from '../core/strip-parameters.ts'
import type { VendorProfile } from '../vendors/profile.ts'

export interface Dialect {
  /** Headers that carry the credential, and those that the API demands. */
  headers(apiKey: string | undefined): Record<string, string>
  request(clientRequest: ClientRequest): BackendRequest
  /** A whole response as the client's JSON. Throws `BackendFault` when it is none. */
  readBackendResponse(kind: JobKind, bytes: Buffer, identity: Identity, echo?: unknown): PlainResponse
  /** chat: the generated text, for counting tokens where the backend did not. */
  textOf(response: JsonObject): string
  /** The bytes of a response that lacks its usage, with one. */
  withUsage(response: PlainResponse, usage: TokenUsage, kind: JobKind): Buffer
  readStream(options: StreamOptions): StreamReading
  /** A backend's error body in OpenAI's shape, for clients of every dialect; null where it holds no object. */
  readErrorBody(body: string): string | null
}

export interface ClientRequest {
  kind: JobKind
  /** The client's JSON object, in its dialect, without `model`, `stream` and `stream_options`. */
  body: Buffer
  /** Those of the body's members, where a translation has just written them. */
  names?: readonly string[]
  model: string
  stream: boolean
  /** Set where the client gave no cap and the lane has one. */
  maxTokens: number | undefined
  /** embeddings: the number that the router requests of the target. */
  dimensions?: number | undefined
  /** The parameters that the target refuses. */
  form: ParameterSupport
  /** messages: the features that the target refuses. */
  refusedFeatures?: RefusedFeatures
  /** The efforts that the target is known to take, or to have translated; undefined where nobody knows. */
  efforts?: readonly Effort[] | undefined
  /** The target's vendor's; a plain server's where it is left out. */
  profile?: VendorProfile
  /** The parameters that its client may send to the target; without it, the policy of a plain server applies. */
  policy?: ParameterPolicy
  /**
   * chat: the tools that the request may have the vendor run; undefined where a translation has left all of that out.
   */
  hosted?: HostedToolRequest | undefined
  /** Opens the state that the client has kept. Without it the request goes without that state. */
  states?: StateSeal | undefined
  /** The kind of reasoning state that the target makes and takes; undefined where it has none. */
  stateKind?: string | undefined
  /** chat: the forms of state that the client may have from other vendors, whose members the target may refuse. */
  alienStates?: readonly ChatStateForm[]
  /** The target's own state of the assistant's turns, by the index of their messages in the body, where the client has sent some. */
  turnStates?: TurnStates
}

export interface BackendRequest {
  /** Below the backend's base address. */
  path: string
  body: Buffer
  /** The client's parameters that are not in it. */
  dropped: string[]
  /** The request as a chat completion, before it was fitted to the target, where the client used another dialect. */
  asChat?: Buffer
  /** The parts of the request that the response needs. Only the dialect looks into it. */
  echo?: unknown
}

export interface PlainResponse {
  bytes: Buffer
  json: JsonObject
  usage: TokenUsage | null
  /** Calls of the vendor's tools that the response holds, whether its usage reports them or not. */
  toolCalls?: ToolCalls
  /** The generated text, where the response does not show it. */
  hiddenText?: string
}

export interface StreamOptions {
  includeUsage: boolean
  /** Choices that the request wants: all must finish. */
  choices: number
  identity: Identity
  /** The echo of the request. */
  echo?: unknown
}

/** The state of a response after the events so far. */
export interface Progress {
  /** Content has come, or the response has ended properly without any. A bare role is no content. */
  begun: boolean
  /** Every choice has its finish reason, or the backend has said that it is done. */
  complete: boolean
  /** Nothing more is to come. */
  done: boolean
  usage: TokenUsage | null
  /** Characters of the text that came before the usage. The usage does not count later ones. */
  usageAt: number
  /** Set if the backend sends it before the complete usage. */
  prompt: TokenUsage | null
  /** Calls of the vendor's tools so far, for a response that breaks off before its usage. */
  toolCalls?: ToolCalls
  /** The text that has been generated so far, for counting tokens where the backend did not. */
  readonly text: GeneratedText
}

export function noProgress(): Progress {
  return { begun: false, complete: false, done: false, usage: null, usageAt: 0, prompt: null, text: noText() }
}

export function recordUsage(progress: Progress, usage: TokenUsage | null): void {
  progress.usage = usage
  progress.usageAt = progress.text.length
}

export function recordCall(progress: Progress, name: string): void {
  if (!TOOL_NAME.test(name)) return
  progress.toolCalls ??= {}
  const { toolCalls } = progress
  if (!Object.hasOwn(toolCalls, name) && Object.keys(toolCalls).length >= MOST_TOOLS) return
  toolCalls[name] = (Object.hasOwn(toolCalls, name) ? toolCalls[name]! : 0) + 1
}

/**
 * The text that a stream generates, kept to count its tokens when the backend does not.
 *
 * Slow readers keep streams open for long, so each stream keeps a bounded part. That is all of a usual response, or the
 * beginning of a longer one. The rest is taken to have as many tokens for its length.
 */
export interface GeneratedText {
  kept: string
  /** Characters generated, kept or not. */
  length: number
}

export const KEPT_CHARACTERS = 128 * 1024

export function noText(): GeneratedText {
  return { kept: '', length: 0 }
}

export function addText(text: GeneratedText, piece: string): void {
  const left = KEPT_CHARACTERS - text.kept.length
  if (left > 0) text.kept += piece.length <= left ? piece : piece.slice(0, left)
  text.length += piece.length
}

/** Tokens of all of it, where those of the kept part are known. */
export function scaleToInteger({ kept, length }: GeneratedText, tokensKept: number): number {
  return kept.length === length ? tokensKept : Math.round((tokensKept * length) / kept.length)
}

/** One stream being read, event by event. */
export interface StreamReading {
  readonly progress: Readonly<Progress>
  /** The bytes to pass on for this event, or null. Throws `BackendFault` when the event is no response. */
  read(event: SseEvent): Buffer | null
  /**
   * The bytes behind the backend's last event. For chat: a usage chunk that the client requested and the backend did
   * not send. In other dialects: the events that carry the usage, of which the terminal one is the last.
   */
  usageChunk(usage: TokenUsage): Buffer
  /**
   * The backend does not end, so this ends the response in its place, as one that has reached its cap. `usageChunk`
   * follows, and nothing else is read.
   */
  cut(): Buffer
}

/** A stream that becomes chat: another dialect may take its chunks before they are bytes. */
export interface ChatReading extends StreamReading {
  readonly progress: Progress
  /** The chunks that `read` would write, and the state of the model's reasoning in them (`core/reasoning-state.ts`). */
  chunks(event: SseEvent): JsonObject[]
  /** The bytes of the event's chunks: the backend's own, where they are as it wrote them. */
  write(chunks: readonly JsonObject[], event: SseEvent): Buffer | null
  /** The chunk that `cut` would write. */
  cutChunk(): JsonObject
}

/** A dialect for clients that speak chat. */
export interface ChatDialect extends Dialect {
  readStream(options: StreamOptions): ChatReading
  /** The messages with the state of their turns. A target without members for it in chat reads `turnStates` instead. */
  withStates?(
    messages: readonly JsonObject[],
    turnStates: TurnStates,
    profile: Pick<VendorProfile, 'reasoningState'>,
  ): readonly JsonObject[]
}
