/**
 * A vendor's fixture: its strict stand-in, the fate of each capability, its errors, its stream's behaviour and recorded
 * responses. Each vendor has a file in `fixtures/`. The tests of this folder, the clients' proofs and the page about backends
 * take all of them from there.
 */

import type { Reply, SeenRequest } from '../http-backend.ts'

export interface VendorFixture {
  standIn: StandInSettings
  row: VendorRow
  /** Status, headers and body as published, with source and day. */
  errors(said: Said): VendorErrors
  /** Tokens of the prompt, and the most that there may be, in the error of a prompt that is too long. */
  tooLong?: [requested: number, most: number]
  stream: StreamBehaviour
  /** Its description of chats, and of embeddings where it has them. */
  described: readonly [Described, Described?]
  /** Members that it takes beside its description. */
  beside?: readonly string[]
  /** Members that it takes in OpenAI's form, though its types are narrower. */
  asOpenAi?: readonly string[]
  /** A fault in the order of a translated conversation; null where the vendor takes it. */
  orderFault?(messages: readonly OrderedMessage[]): string | null
  recorded: RecordedReply[]
}

/** The name of a JSON schema in `schemas/`, which `npm run write schemas` writes, or a list of members. */
export type Described = string | OfSdk | Documented

/**
 * The types of the vendor's official SDK, from npm. A new version may refuse a member that a former one took, so an upgrade is
 * deliberate.
 */
export interface OfSdk {
  schema: string
  package: string
  version: string
  /** Below the package. */
  file: string
  type: string
  /** In place of the type's own, which its SDK fills in first. */
  required?: string[]
  /** Members that its SDK fills in, at any depth. */
  filled?: string[]
}

/**
 * Of a vendor whose documents list the members that they take. A member is described as OpenAI does it, unless `types` says
 * more.
 */
export interface Documented {
  /** With its day at the end. */
  source: string
  members: string
  types?: Readonly<Record<string, object>>
  /** `messages` where left out. */
  required?: string[]
}

export interface OrderedMessage {
  role: string
  content?: unknown
  tool_calls?: unknown
}

/** Its address, header names and authentication, and the parameters that it refuses beyond its description. */
export interface StandInSettings {
  /** The path of its address; `/v1` where left out. */
  base?: string
  /** The model of the cells. */
  model: string
  /** Null where the credential is good; a bearer where left out. */
  complaint?(request: SeenRequest): string | null
  /** Refuses as the vendor does, and serves the rest; then the stream has the vendor's behaviour. */
  judge?: Reply
  /** In place of the judge, for events of another dialect. */
  reply?: Reply
  /** Parameters that it takes without a word and without effect. They must not arrive. */
  ignores?: string[]
}

/** `as it is`: the vendor gets the parameter. `translated`: in the vendor's own form. `dropped and said`: `x-svc-dropped-params` names it. */
export type Cell = 'as it is' | 'translated' | 'dropped and said' | 'refused and said' | 'no'

export const CAPABILITIES = [
  'chat',
  'stream',
  'usage in a stream',
  'max_tokens',
  'max_completion_tokens',
  'role developer',
  'temperature',
  'stop',
  'seed',
  'presence_penalty',
  'logprobs',
  'logit_bias',
  'n',
  'tools',
  'tool_choice',
  'user',
  'parallel_tool_calls',
  'response_format json_schema',
  'reasoning_effort',
  'image in base64',
  'image by URL',
  'embeddings',
] as const
export type Capability = (typeof CAPABILITIES)[number]

export interface VendorRow {
  /** The model family that the cells are true of. */
  models: string
  /** The vendor's own words, and the day on which they were read. */
  sources: string[]
  /** All cells that are not `as it is`. */
  but: Partial<Record<Capability, Cell>>
  /** Cells that no source confirms. */
  assumed: readonly Capability[]
}

export const ERROR_CASES = [
  'bad credential',
  'no such model',
  'content filter',
  'prompt too long',
  'rate limit',
  'unpaid or out of quota',
  'overload',
] as const
export type ErrorCase = (typeof ERROR_CASES)[number]

export interface VendorError {
  status: number
  headers?: Record<string, string>
  body: unknown
  /** `assumed` where no source confirms it. */
  source: string
}

/** A vendor without a case has no such error: a server of one's own charges no money. */
export type VendorErrors = Partial<Record<ErrorCase, VendorError>>

/** The values that some vendors repeat in their errors, and no client may read. */
export interface Said {
  key: string
  model: string
}

export interface StreamBehaviour {
  /** The first chunk: a role and an empty text, the role with the first text, or filters without a choice and a name. */
  first: 'role' | 'text' | 'filters'
  /** The role in the later chunks. */
  role: 'absent' | 'repeated' | 'null'
  finish: 'beside the last text' | 'in a chunk of its own'
  usage: 'if requested, without choices' | 'always, beside an empty choice' | 'in every chunk' | 'beside the finish'
  /** The comment that it writes lest a silent connection is closed. */
  keepAlive: string | null
  /** The longest silence, in milliseconds: before its first byte, and between two. */
  silentMs: { first: number; between: number; source: string }
  source: string
}

export interface RecordedReply {
  /** In `recorded/`: `.json` is a plain response, `.sse` a stream. */
  file: string
  /** The author of this form, who printed or recorded it, and the day. */
  source: string
  text?: string
  reasoning?: string
  calls?: { name: string; arguments: object }[]
  finishReason: string
  /** Null where the vendor counted nothing. */
  usage: { promptTokens: number; completionTokens: number; cachedTokens?: number; reasoningTokens?: number } | null
}
