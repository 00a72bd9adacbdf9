/**
 * Tool calls as clients need them: each has an `id`, and in a stream all pieces of one call have one `index`, which no
 * other call has. Gemini's compatible address leaves out both (pydantic/pydantic-ai, recorded 2025-06-02). Vertex writes
 * several indexes into the pieces of one call (cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples,
 * 2026-02-11). Each function answers null where nothing is missing.
 */

import type { JsonObject } from './plain-answer.ts'
import { filledItems } from './fill-gaps.ts'
import { isObject } from './read-usage.ts'

/** What a call that begins may lack. */
function callGaps({ id, type }: JsonObject, ownId: string): JsonObject {
  const gaps: JsonObject = {}
  if (!isText(id)) gaps.id = ownId
  if (!isText(type)) gaps.type = 'function'
  return gaps
}

/** Of a whole message. `answerId` makes the ids unique. */
export function wholeToolCalls(calls: unknown, answerId: string, choice: number): unknown[] | null {
  return filledItems(calls, (call, position) => callGaps(call, ownIdOf(answerId, choice, position)))
}

interface KnownCall {
  choice: unknown
  id: unknown
  /** As the backend last wrote it. */
  theirIndex: unknown
  index: number
}

/** The calls of one stream. */
export class StreamedToolCalls {
  #answerId: string
  #calls: KnownCall[] = []
  /** The choices whose calls had no index: their servers do not tell either why they stop (googleapis/python-genai#2868, 2026-08-17). */
  #unnumbered = new Set<unknown>()

  constructor(answerId: string) {
    this.#answerId = answerId
  }

  /** The chunk with whole calls. */
  whole(chunk: JsonObject): JsonObject | null {
    const choices = filledItems(chunk.choices, (choice) => this.#choiceGaps(choice))
    return choices && { ...chunk, choices }
  }

  #choiceGaps({ index, delta, finish_reason: reason }: JsonObject): JsonObject | null {
    const pieces = isObject(delta) ? delta.tool_calls : null
    if (pieces == null && this.#unnumbered.size === 0) return null
    const calls = filledItems(pieces, (piece) => this.#pieceGaps(index, piece))
    const gaps: JsonObject = calls ? { delta: { ...(delta as JsonObject), tool_calls: calls } } : {}
    if (reason === 'stop' && this.#unnumbered.has(index)) gaps.finish_reason = 'tool_calls'
    return gaps
  }

  #pieceGaps(choice: unknown, piece: JsonObject): JsonObject {
    const known = this.#find(choice, piece)
    const call = known ?? this.#begin(choice, piece)
    call.theirIndex = piece.index
    if (piece.index === undefined) this.#unnumbered.add(choice)
    const gaps = known ? {} : callGaps(piece, ownIdOf(this.#answerId, choice, call.index))
    return piece.index === call.index ? gaps : { ...gaps, index: call.index }
  }

  /** The call that the piece belongs to; undefined where it begins one. */
  #find(choice: unknown, { id, index, function: called }: JsonObject): KnownCall | undefined {
    const calls = this.#calls.filter((call) => call.choice === choice)
    const ofId = isText(id) ? calls.find((call) => call.id === id) : undefined
    if (ofId) return ofId
    const ofIndex = index === undefined ? undefined : calls.findLast((call) => call.theirIndex === index)
    const namesFunction = isObject(called) && isText(called.name)
    if (!namesFunction) return ofIndex ?? calls.at(-1)
    // Another id at the same index is another call.
    return isText(id) && isText(ofIndex?.id) ? undefined : ofIndex
  }

  #begin(choice: unknown, { id, index: theirIndex }: JsonObject): KnownCall {
    const index = this.#calls.filter((call) => call.choice === choice).length
    const call = { choice, id, theirIndex, index }
    this.#calls.push(call)
    return call
  }
}

function ownIdOf(answerId: string, choice: unknown, index: number): string {
  return `call_${answerId}_${String(choice)}_${index}`
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
