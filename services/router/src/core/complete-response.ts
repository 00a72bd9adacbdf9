/**
 * Fills the gaps of a backend's records, since the contract's records are complete. Each function returns null when
 * nothing is missing, so that the backend's own bytes travel on. Otherwise it returns the record with its gaps filled.
 *
 * It keeps all that a backend wrote, with these exceptions:
 *
 * - a wrong kind of object;
 * - an empty text or null in the place of a name;
 * - parts in the place of a text;
 * - times in another unit;
 * - sums that do not fit.
 */

import type { JobKind } from '@gateway/contracts/job'
import { isFinished, textOf, thoughtsOf, readUsage, writeUsage, type UsageRules } from './chat-chunk.ts'
import { type JsonObject, isObject, membersOf, plainNumber, wordOf } from '@gateway/contracts/json'
import { responseId, isResponseId } from './response-id.ts'
import { COMMON_FINISH_REASONS, endingOf, type FinishReasons } from './finish-reasons.ts'
import type { ChatStateForm } from './reasoning-state.ts'
import type { StateSeal } from './state-seal.ts'
import { newId } from './tool-calls.ts'

/** The members that a backend may leave out of its response, and that the router knows. */
export interface ResponseNames {
  id: string
  /** Unix seconds. */
  created: number
  model: string
}

export interface Identity extends ResponseNames {
  /** The rules for the backend's usage, where its vendor counts in its own way. */
  usageRules?: UsageRules
  /** The meaning of its finish reasons. */
  finishReasons?: FinishReasons
  /** Seals the state that the client is to keep. */
  states?: StateSeal
  /** The kind of reasoning state that the backend makes; undefined where it makes none. */
  stateKind?: string | undefined
  /** The form of that state in its chat completions. */
  stateForm?: ChatStateForm | undefined
  /** Unix seconds when it is called: a response says when it was completed. Without it, that was at its begin. */
  clock?: (() => number) | undefined
}

type Completed = JsonObject | null
type Complete = (record: JsonObject, identity: Identity) => Completed

const COMPLETE: Record<JobKind, Complete> = {
  chat: completeCompletion,
  embeddings: completeEmbeddings,
  images: completeImages,
}

export function completeResponse(kind: JobKind, response: JsonObject, identity: Identity): Completed {
  return COMPLETE[kind](response, identity)
}

function completeCompletion(response: JsonObject, identity: Identity): Completed {
  const { finishReasons } = identity
  const gaps = { ...named(response, 'chat.completion', identity), ...usageGap(response, 'chat', identity) }
  const choices = filledItems(response.choices, (choice, position) => ({
    ...indexGap(choice, position),
    ...endGap(choice, isFinished(choice) ? choice.finish_reason : 'stop', hasCalls(choice.message), finishReasons),
    ...messageGap(choice.message, identity.id, position),
  }))
  return filled(response, choices === null ? gaps : { ...gaps, choices })
}

/** On the way of every streamed chunk. */
export function completeChunk(chunk: JsonObject, identity: ResponseNames, reasons?: FinishReasons): Completed {
  const gaps = named(chunk, 'chat.completion.chunk', identity)
  const choices = Array.isArray(chunk.choices) ? filledItems(chunk.choices, chunkGaps, reasons) : []
  if (choices !== null) gaps.choices = choices
  return filled(chunk, gaps)
}

function chunkGaps(choice: JsonObject, position: number, reasons: FinishReasons): JsonObject {
  const gaps = indexGap(choice, position)
  // Strict clients refuse an empty one (OpenSecretCloud/maple-proxy#3, 2025-11-15).
  if (isFinished(choice)) Object.assign(gaps, endGap(choice, choice.finish_reason, false, reasons))
  else if (choice.finish_reason !== null) gaps.finish_reason = null
  const { delta } = choice
  if (!isObject(delta)) gaps.delta = {}
  else if (delta.role === null || Array.isArray(delta.content)) {
    // SGLang's in all chunks but the first (sgl-project/sglang#7860, 2025-07-08).
    const { role, ...rest } = delta
    gaps.delta = { ...(role == null ? null : { role }), ...rest, ...textGaps(delta) }
  }
  return gaps
}

/** Mistral writes parts, which strict clients refuse (meilisearch/meilisearch#6327, 2026-04-13). */
function textGaps(said: JsonObject): JsonObject | null {
  if (!Array.isArray(said.content)) return null
  const thoughts = thoughtsOf(said)
  return { content: textOf(said.content), ...(thoughts !== '' && { reasoning_content: thoughts }) }
}

function completeEmbeddings(response: JsonObject, identity: Identity): Completed {
  const gaps: JsonObject = { ...usageGap(response, 'embeddings', identity) }
  if (response.object !== 'list') gaps.object = 'list'
  if (!isName(response.model)) gaps.model = identity.model
  const data = filledItems(response.data, (entry) => (entry.object === 'embedding' ? {} : { object: 'embedding' }))
  return filled(response, data === null ? gaps : { ...gaps, data })
}

function completeImages(response: JsonObject, identity: Identity): Completed {
  const gaps: JsonObject = { ...usageGap(response, 'images', identity) }
  const created = secondsOf(response.created, identity.created)
  if (created !== response.created) gaps.created = created
  return filled(response, gaps)
}

function named(record: JsonObject, object: string, { id, created: now, model }: ResponseNames): JsonObject {
  const gaps: JsonObject = {}
  const created = secondsOf(record.created, now)
  if (!isName(record.id)) gaps.id = id
  else if (!isResponseId('chat', record.id)) gaps.id = responseId('chat', String(record.id))
  if (record.object !== object) gaps.object = object
  if (created !== record.created) gaps.created = created
  if (!isName(record.model)) gaps.model = model
  return gaps
}

/** Usage that a backend counted under other names, without a sum, or with a sum that is not that of its parts. */
function usageGap({ usage }: JsonObject, kind: JobKind, { usageRules }: Identity): JsonObject | null {
  if (!isObject(usage)) return null
  const completed = completeUsage(usage, kind, usageRules)
  return completed && { usage: completed }
}

export function completeUsage(usage: JsonObject, kind: JobKind, rules?: UsageRules): Completed {
  const counted = readUsage(usage, rules)
  if (counted === null) return null
  const gaps: JsonObject = writeUsage(counted, kind)
  for (const name in gaps) if (usage[name] === gaps[name]) delete gaps[name]
  if (isEmpty(gaps)) return null
  if (kind === 'chat' && counted.reasoningTokens > 0) {
    const details = membersOf(usage.completion_tokens_details)
    gaps.completion_tokens_details = { ...details, reasoning_tokens: counted.reasoningTokens }
  }
  return { ...usage, ...gaps }
}

function messageGap(message: unknown, responseId: string, choice: number): JsonObject | null {
  if (!isObject(message)) return null
  const gaps: JsonObject = {}
  if (!isName(message.role)) gaps.role = 'assistant'
  if (message.content === undefined) gaps.content = null
  Object.assign(gaps, textGaps(message))
  const calls = completeToolCalls(message.tool_calls, responseId, choice)
  if (calls !== null) gaps.tool_calls = calls
  return isEmpty(gaps) ? null : { message: { ...message, ...gaps } }
}

/** Strict clients know OpenAI's words alone. Some servers end a response that calls tools by `stop`. */
function endGap(
  { finish_reason: reported }: JsonObject,
  reason: unknown,
  hasCalled: boolean,
  reasons?: FinishReasons,
): JsonObject {
  const known = reason === 'function_call' ? reason : endingOf(reason, reasons)
  const ending = known === 'stop' && hasCalled ? 'tool_calls' : known
  return ending === reported ? {} : { finish_reason: ending }
}

function hasCalls(message: unknown): boolean {
  return isObject(message) && Array.isArray(message.tool_calls) && message.tool_calls.length > 0
}

function indexGap({ index: reported }: JsonObject, position: number): JsonObject {
  const index = plainNumber(reported)
  if (!Number.isInteger(index)) return { index: position }
  return index === reported ? {} : { index }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** Read as seconds, this time is thousands of years away. */
const MILLISECONDS = 100_000_000_000

/**
 * SambaNova writes fractions (spiceai/spiceai#5418, 2025-04-17), some servers milliseconds (zed-industries/zed#32982,
 * 2025-06-18): strict clients refuse both. Azure writes 0 into a chunk that holds nothing but its filters' results.
 */
function secondsOf(created: unknown, now: number): number {
  const reported = plainNumber(created)
  if (typeof reported !== 'number' || reported <= 0) return now
  return Math.floor(reported < MILLISECONDS ? reported : reported / 1_000)
}

/** Null where there are no gaps. A record without gaps is not copied, so that its own bytes can travel on. */
function filled(record: JsonObject, gaps: JsonObject): JsonObject | null {
  return isEmpty(gaps) ? null : { ...record, ...gaps }
}

/** Null where each item is whole. Another kind of value than a list is for others to judge. */
function filledItems(
  items: unknown,
  gapsOf: (item: JsonObject, position: number, reasons: FinishReasons) => JsonObject | null,
  reasons: FinishReasons = COMMON_FINISH_REASONS,
): unknown[] | null {
  if (!Array.isArray(items)) return null
  let isChanged = false
  const completed = items.map((item: unknown, position) => {
    const gaps = isObject(item) ? gapsOf(item, position, reasons) : null
    if (gaps === null || isEmpty(gaps)) return item
    isChanged = true
    return { ...(item as JsonObject), ...gaps }
  })
  return isChanged ? completed : null
}

function isEmpty(gaps: JsonObject): boolean {
  for (const _ in gaps) return false
  return true
}

/** Tool calls of a whole message: each has an `id`, and its arguments are a text. */
export function completeToolCalls(calls: unknown, responseId: string, choice: number): unknown[] | null {
  return filledItems(calls, (call, position) => ({
    ...callGaps(call, ownIdOf(responseId, choice, position)),
    ...argumentsGap(call),
  }))
}

/** llama.cpp wrote an object for a while (ggml-org/llama.cpp#20198, 2026-03-08), as TGI did. */
function argumentsGap({ function: called }: JsonObject): JsonObject | null {
  if (!isObject(called) || !isObject(called.arguments)) return null
  return { function: { ...called, arguments: JSON.stringify(called.arguments) } }
}

/** The members that a call may lack at its beginning. */
function callGaps({ id, type }: JsonObject, ownId: string): JsonObject {
  const gaps: JsonObject = {}
  if (!isName(id)) gaps.id = ownId
  if (!isName(type)) gaps.type = 'function'
  return gaps
}

/** `responseId` makes the ids unique. */
function ownIdOf(responseId: string, choice: unknown, index: number): string {
  return newId(`${responseId} ${wordOf(choice)} ${index}`)
}

interface Call {
  id: unknown
  index: number
}

/** The calls of one choice. `byIndex` holds the call that the backend last wrote under the index. */
interface Calls {
  byId: Map<unknown, Call>
  byIndex: Map<unknown, Call>
  last: Call | undefined
}

/**
 * Tool calls of a stream as clients need them. Each has an `id`, and its arguments are a text. All pieces of one call
 * have one `index`, which no other call has. Gemini's compatible address leaves out ids and indexes
 * (pydantic/pydantic-ai, recorded 2025-06-02). Vertex writes several indexes into the pieces of one call
 * (cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples, 2026-02-11). A chunk in which nothing is
 * missing stays as it came.
 */
export class StreamedToolCalls {
  #responseId: string
  #choices = new Map<unknown, Calls>()

  constructor(responseId: string) {
    this.#responseId = responseId
  }

  /** The chunk with whole calls. */
  complete(chunk: JsonObject): JsonObject | null {
    const choices = filledItems(chunk.choices, (choice) => this.#choiceGaps(choice))
    return choices && { ...chunk, choices }
  }

  #choiceGaps({ index, delta, finish_reason: reason }: JsonObject): JsonObject | null {
    const pieces = isObject(delta) ? delta.tool_calls : null
    if (pieces == null && reason !== 'stop') return null
    const calls = filledItems(pieces, (piece) => this.#pieceGaps(index, piece))
    const gaps: JsonObject = calls ? { delta: { ...(delta as JsonObject), tool_calls: calls } } : {}
    // Gemini's address, and others (googleapis/python-genai#2868, 2026-08-17).
    if (reason === 'stop' && this.hasCalls(index)) gaps.finish_reason = 'tool_calls'
    return gaps
  }

  #pieceGaps(choice: unknown, reported: JsonObject): JsonObject {
    const piece: JsonObject = { ...reported, index: plainNumber(reported.index) }
    const calls = this.#callsOf(choice)
    const known = find(calls, piece)
    const call = known ?? { id: piece.id, index: calls.last ? calls.last.index + 1 : 0 }
    if (!known) {
      calls.last = call
      calls.byId.set(piece.id, call)
    }
    if (piece.index !== undefined) calls.byIndex.set(piece.index, call)
    const began = known ? null : callGaps(piece, ownIdOf(this.#responseId, choice, call.index))
    const gaps = { ...began, ...argumentsGap(piece) }
    return reported.index === call.index ? gaps : { ...gaps, index: call.index }
  }

  hasCalls(choice: unknown): boolean {
    return this.#choices.has(choice)
  }

  #callsOf(choice: unknown): Calls {
    let calls = this.#choices.get(choice)
    if (calls === undefined) {
      calls = { byId: new Map(), byIndex: new Map(), last: undefined }
      this.#choices.set(choice, calls)
    }
    return calls
  }
}

/** The call that the piece belongs to; undefined where it begins one. */
function find({ byId, byIndex, last }: Calls, { id, index, function: called }: JsonObject): Call | undefined {
  const ofId = isName(id) ? byId.get(id) : undefined
  if (ofId) return ofId
  const ofIndex = byIndex.get(index)
  const namesFunction = isObject(called) && isName(called.name)
  if (!namesFunction) return ofIndex ?? last
  // Another id at the same index is another call.
  return isName(id) && isName(ofIndex?.id) ? undefined : ofIndex
}
