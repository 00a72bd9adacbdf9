/**
 * The fixture of a client dialect: its requests, and the words that its clients read. Each dialect has a file in `clients/`.
 * Tests, chaos and bench take their samples of all dialects from there.
 */

import type { ErrorCode } from '@gateway/contracts/errors'
import type { Conversation } from './conversation.ts'
import type { Make } from './cpu-growth.ts'

// A client's checks read the wire as it is: a missing member fails them.
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

export interface ClientFixture {
  path: string
  idPrefix: string
  /** The gateway names a response by its request; else the backend's own id stays. */
  isNamedByRequest?: boolean
  body(content: string, capTokens: number): object
  /** The entries of `tools`. */
  functions(tools: FunctionTool[]): object[]
  /** The members of a request for an effort, and the name that a client reads where there is none. */
  effort: { write(effort: string): object; refused: string }
  /** The members of a job's header that no other dialect has. */
  jobHeader: object

  /** Each kind of item, part and tool that the gateway reads. */
  richRequest: object
  /** Its client gets each part of a response. */
  requestForAll: object
  /** `object`, in JSON, is the argument of a call and the bounds in each schema. */
  requestWith(object: string): string
  /** A request with so many items of a kind. */
  manyInRequest: Record<string, Make>
  /** The nth turn's request. Only the attribution block has changed since the turn before. */
  conversation(given: Conversation, count: number): Record<string, unknown>

  /** The members of the body of a refusal. `text` stands for any text, `param` is the field of the request. */
  refusal(code: ErrorCode, text: unknown, param?: string | null): object
  /** `[DONE]` ends a good stream, behind the terminal event of those that have one. */
  endsWithDone: boolean
  /** Reads the data of one event other than `[DONE]`. */
  readEvent(data: string): ResponsePart
  readPlain(response: Json): ResponsePart
  /** Matches a stream that has used up its cap. */
  full: RegExp
  /** The ids of the response in one event. */
  idsIn(event: Json): unknown[]
  /** The member that holds a call's arguments in a response. */
  argumentsMember: 'input' | 'arguments'
  /** The pieces of a call's arguments in one event; none where an event brings them whole. */
  argumentPieces(event: Json): string[]
  /** Left out where events have no names. */
  namedEvents?: NamedEvents
  /** The model of the strictest client. */
  strictModel(sdk: AiSdk): unknown
}

export interface FunctionTool {
  name: string
  description: string
  schema: object
}

/** The contents of one event, or of a plain response. */
export interface ResponsePart {
  text: string
  id?: string
  finishReason?: string | undefined
  usage?: { promptTokens: number; completionTokens: number } | undefined
  /** The code of a failure. */
  errorCode?: string
  /** The response has ended well. */
  isLast?: boolean
}

export interface NamedEvents {
  first: string
  /** The event of a piece of text. */
  text: string
  /** The event that ends a good stream. */
  terminal: string
  areNumbered: boolean
  usageIn(events: Json): unknown
}

/** One version of Vercel's AI SDK, with its providers. */
export interface AiSdk {
  openai: { chat(model: string): unknown; responses(model: string): unknown }
  anthropic(model: string): unknown
}
