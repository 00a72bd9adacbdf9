/**
 * Fills the gaps of a response whose server leaves out members that Open Responses (specification 2026-04-24) wants: vLLM
 * writes no `completed_at`, older servers no penalties. All bytes that the server wrote stay, but for a null where the
 * API has no null.
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
  valueOf(name: string, filling: Filling): unknown
  within?: ReadonlyMap<string, Walk>
}

function completing({ required, notNull, valueOf, within }: Shape): Walk {
  return (text, at, filling) => {
    if (text[at] !== '{') return skipValue(text, at)
    const { edits } = filling
    const write = (name: string) => JSON.stringify(valueOf(name, filling))
    const seen = new Set<string>()
    const behind = walkMembers(text, at, (name, place) => {
      seen.add(name)
      if (!text.startsWith('null', place)) return within?.get(name)?.(text, place, filling) ?? skipValue(text, place)
      const to = place + 'null'.length
      if (notNull.has(name)) edits.push({ from: place, to, text: write(name) })
      return to
    })
    const missing = required.filter((name) => !seen.has(name))
    if (behind < 0 || missing.length === 0) return behind
    const added = missing.map((name) => `${JSON.stringify(name)}:${write(name)}`).join(',')
    edits.push({ from: behind - 1, to: behind - 1, text: seen.size === 0 ? added : `,${added}` })
    return behind
  }
}

/** `optional`: values in place of a null, for members that may be missing. */
function withValues(members: JsonObject, within: [string, Walk][] = [], optional: JsonObject = {}): Walk {
  const values = { ...members, ...optional }
  return completing({
    required: Object.keys(members),
    notNull: new Set(Object.keys(values).filter((name) => values[name] !== null)),
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

const part = byType({ output_text: withValues({ annotations: [] }, [], { logprobs: [] }) })

function itemOf(status: 'in_progress' | 'completed'): Walk {
  return byType({
    message: withValues({ status, content: [] }, [['content', listOf(part)]]),
    function_call: withValues({ status }),
    reasoning: withValues({ summary: [] }),
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
    ['text', withValues({ format: { type: 'text' } }, [['format', format]], { verbosity: 'medium' })],
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
