/**
 * Fills the gaps of a response whose server leaves out members that Open Responses (specification 2026-04-24) wants: vLLM
 * writes no `completed_at`, older servers no penalties. All bytes that the server wrote stay, but for a null where Open
 * Responses has no null: a value replaces it, or the member goes.
 *
 * A text that is no JSON stays as it is: others judge it.
 */

import type { JsonObject } from '@gateway/contracts/json'
import { memberAt, skipValue, walkItems, walkMembers } from '../../core/json-members.ts'

interface Filling {
  /** In the order of their places. */
  edits: { from: number; to: number; text: string }[]
  /** The value of a response's missing member. */
  valueOf: ValueOf
}

export type ValueOf = (name: string) => unknown

/** Reads the value that begins at the place, notes its gaps, and returns the place behind it. */
type Walk = (text: string, at: number, filling: Filling) => number

interface Shape {
  required: readonly string[]
  /** Names of members for which null is no value. */
  notNull: ReadonlySet<string>
  /** Names of members that may be absent and may not be null. */
  absent?: ReadonlySet<string>
  valueOf(name: string, filling: Filling): unknown
  within?: ReadonlyMap<string, Walk>
}

function completing({ required, notNull, absent, valueOf, within }: Shape): Walk {
  return (text, at, filling) => {
    if (text[at] !== '{') return skipValue(text, at)
    const { edits } = filling
    const write = (name: string) => JSON.stringify(valueOf(name, filling))
    const seen = new Set<string>()
    const cuts = new Cuts(edits)
    const behind = walkMembers(text, at, (name, place, nameAt) => {
      const isNull = text.startsWith('null', place)
      if (isNull && absent?.has(name)) return cuts.cut(nameAt, place + NULL_LENGTH)
      cuts.keep(nameAt)
      seen.add(name)
      if (!isNull) return cuts.endAt(within?.get(name)?.(text, place, filling) ?? skipValue(text, place))
      if (notNull.has(name)) edits.push({ from: place, to: place + NULL_LENGTH, text: write(name) })
      return cuts.endAt(place + NULL_LENGTH)
    })
    const missing = required.filter((name) => !seen.has(name))
    if (behind < 0 || missing.length === 0) return behind
    const added = missing.map((name) => `${JSON.stringify(name)}:${write(name)}`).join(',')
    edits.push({ from: behind - 1, to: behind - 1, text: seen.size === 0 ? added : `,${added}` })
    return behind
  }
}

const NULL_LENGTH = 'null'.length

/** The cuts of members out of one object, each with the comma that is its own. */
class Cuts {
  #edits: Filling['edits']
  /** The end of the member before. */
  #end = -1
  #hasKept = false

  constructor(edits: Filling['edits']) {
    this.#edits = edits
  }

  /** Before a member that stays; the comma behind the first ones that went goes, too. */
  keep(nameAt: number): void {
    if (!this.#hasKept && this.#end >= 0) this.#edits.push({ from: this.#end, to: nameAt, text: '' })
    this.#hasKept = true
  }

  endAt(end: number): number {
    return (this.#end = end)
  }

  cut(nameAt: number, end: number): number {
    this.#edits.push({ from: this.#end >= 0 ? this.#end : nameAt, to: end, text: '' })
    return this.endAt(end)
  }
}

interface Others {
  within?: [string, Walk][]
  /** Values in place of a null, for members that may be missing. */
  inPlaceOfNull?: JsonObject
  /** Members that go where they are null. */
  absent?: string[]
}

/** `members`: with the values of those that are missing. */
function withValues(members: JsonObject, { within = [], inPlaceOfNull = {}, absent = [] }: Others = {}): Walk {
  const values = { ...members, ...inPlaceOfNull }
  return completing({
    required: Object.keys(members),
    notNull: new Set(Object.keys(values).filter((name) => values[name] !== null)),
    absent: new Set(absent),
    valueOf: (name) => values[name],
    within: new Map(within),
  })
}

function listOf(item: Walk): Walk {
  return (text, at, filling) =>
    text[at] === '[' ? walkItems(text, at, (place) => item(text, place, filling)) : skipValue(text, at)
}

/** By the object's `type`. Objects of other types are their vendor's own. */
function byType(walks: Record<string, Walk>): Walk {
  const known = new Map(Object.entries(walks).map(([type, walk]) => [JSON.stringify(type), walk]))
  return (text, at, filling) => {
    const place = memberAt(text, at, 'type')
    const walk = place < 0 ? undefined : known.get(text.slice(place, skipValue(text, place)))
    return walk ? walk(text, at, filling) : skipValue(text, at)
  }
}

const part = byType({ output_text: withValues({ annotations: [] }, { inPlaceOfNull: { logprobs: [] } }) })

function itemOf(status: 'in_progress' | 'completed'): Walk {
  return byType({
    message: withValues({ status, content: [] }, { within: [['content', listOf(part)]], absent: ['phase'] }),
    function_call: withValues({ status }),
    reasoning: withValues({ summary: [] }, { absent: ['content', 'encrypted_content'] }),
    compaction: withValues({}, { absent: ['created_by'] }),
  })
}

const tool = byType({ function: withValues({ description: null, parameters: null, strict: null }) })
const format = byType({ json_schema: withValues({ description: null, schema: null, strict: false }) })
const usage = withValues({
  input_tokens_details: { cached_tokens: 0 },
  output_tokens_details: { reasoning_tokens: 0 },
})

const NOT_NULL = [
  ...['object', 'created_at', 'model', 'status', 'output', 'background', 'frequency_penalty', 'parallel_tool_calls'],
  ...['presence_penalty', 'service_tier', 'store', 'temperature', 'text', 'tool_choice', 'tools', 'top_logprobs'],
  ...['top_p', 'truncation'],
]
/** A server's null stays: it says that there is none. */
const NULLABLE = [
  ...['completed_at', 'error', 'incomplete_details', 'instructions', 'max_output_tokens', 'max_tool_calls', 'metadata'],
  ...['previous_response_id', 'prompt_cache_key', 'reasoning', 'safety_identifier', 'usage'],
]

const response = completing({
  required: [...NOT_NULL, ...NULLABLE],
  notNull: new Set(NOT_NULL),
  valueOf: (name, filling) => filling.valueOf(name),
  within: new Map([
    ['output', listOf(itemOf('completed'))],
    ['tools', listOf(tool)],
    ['text', withValues({ format: { type: 'text' } }, { within: [['format', format]], absent: ['verbosity'] })],
    ['reasoning', withValues({ effort: null, summary: null })],
    ['usage', usage],
  ]),
})

/** Returns the text with the response that begins at the place complete; null where it is. */
export function completeResponse(text: string, at: number, valueOf: ValueOf): string | null {
  return fill(response, text, at, valueOf)
}

/** The events that hold a part of a response: its member, and its form. */
const PARTS: ReadonlyMap<unknown, { member: string; walk: Walk }> = new Map([
  ['response.output_item.added', { member: 'item', walk: itemOf('in_progress') }],
  ['response.output_item.done', { member: 'item', walk: itemOf('completed') }],
  ['response.content_part.added', { member: 'part', walk: part }],
  ['response.content_part.done', { member: 'part', walk: part }],
])

/** Returns the event with its item or part complete; null where it is, or where the event has none. */
export function completePart(type: unknown, event: string): string | null {
  const held = PARTS.get(type)
  return held ? fill(held.walk, event, memberAt(event, event.indexOf('{'), held.member), NOTHING) : null
}

const NOTHING: ValueOf = () => null

function fill(walk: Walk, text: string, at: number, valueOf: ValueOf): string | null {
  const filling: Filling = { edits: [], valueOf }
  if (at < 0 || walk(text, at, filling) < 0 || filling.edits.length === 0) return null
  let written = ''
  let from = 0
  for (const edit of filling.edits) {
    written += text.slice(from, edit.from) + edit.text
    from = edit.to
  }
  return written + text.slice(from)
}
