/**
 * Tool calls of a stream as clients need them: each has an `id`, its arguments are a text, and all pieces of one call have one
 * `index`, which no other call has. Gemini's compatible address leaves out ids and indexes (pydantic/pydantic-ai, recorded
 * 2025-06-02). Vertex writes several indexes into the pieces of one call
 * (cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples, 2026-02-11). A chunk in which nothing is missing
 * stays as it came.
 */

import type { JsonObject } from './plain-answer.ts'
import { isObject } from './read-usage.ts'
import { argumentsGap, callGaps, filledItems, isName, ownIdOf } from './whole-record.ts'

interface Call {
  id: unknown
  index: number
}

/** Of one choice. By index: the one of which the backend last wrote under it. */
interface Calls {
  byId: Map<unknown, Call>
  byIndex: Map<unknown, Call>
  last: Call | undefined
  /** One had no index. Such a server does not tell either why it stops (googleapis/python-genai#2868, 2026-08-17). */
  isUnnumbered: boolean
}

/** The calls of one stream. */
export class StreamedToolCalls {
  #answerId: string
  #choices = new Map<unknown, Calls>()

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
    if (pieces == null && reason !== 'stop') return null
    const calls = filledItems(pieces, (piece) => this.#pieceGaps(index, piece))
    const gaps: JsonObject = calls ? { delta: { ...(delta as JsonObject), tool_calls: calls } } : {}
    if (reason === 'stop' && this.#choices.get(index)?.isUnnumbered) gaps.finish_reason = 'tool_calls'
    return gaps
  }

  #pieceGaps(choice: unknown, piece: JsonObject): JsonObject {
    const calls = this.#callsOf(choice)
    const known = find(calls, piece)
    const call = known ?? { id: piece.id, index: calls.last ? calls.last.index + 1 : 0 }
    if (!known) {
      calls.last = call
      calls.byId.set(piece.id, call)
    }
    if (piece.index === undefined) calls.isUnnumbered = true
    else calls.byIndex.set(piece.index, call)
    const began = known ? null : callGaps(piece, ownIdOf(this.#answerId, choice, call.index))
    const gaps = { ...began, ...argumentsGap(piece) }
    return piece.index === call.index ? gaps : { ...gaps, index: call.index }
  }

  hasCalls(choice: unknown): boolean {
    return this.#choices.has(choice)
  }

  #callsOf(choice: unknown): Calls {
    let calls = this.#choices.get(choice)
    if (calls === undefined) {
      calls = { byId: new Map(), byIndex: new Map(), last: undefined, isUnnumbered: false }
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
