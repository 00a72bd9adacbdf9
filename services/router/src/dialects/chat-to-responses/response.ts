/**
 * A response as a chat completion, and the parts that a stream shares with it.
 */

import { type JsonObject, membersOf, objectsOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import { readUsage } from '../../core/chat-chunk.ts'
import type { Identity } from '../../core/complete-response.ts'
import { keepsState, STATE, type PlacedValue } from '../../core/reasoning-state.ts'
import { writeUsage } from '../chat-to-messages/response.ts'
import type { PlainResponse } from '../dialect.ts'
import { parseResponse } from '../responses-to-responses.ts'

export function readResponse(bytes: Buffer, identity: Identity): PlainResponse {
  const response = parseResponse(bytes)
  const items = objectsOf(response.output)
  const message = messageOf(items, keepsState(identity))
  const usage = readUsage(response.usage)
  const logprobs = partsIn(items).flatMap((part) => objectsOf(part.logprobs))
  const json = {
    ...nameOf(response, identity),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message,
        logprobs: logprobs.length === 0 ? null : { content: logprobs, refusal: null },
        finish_reason: finishReasonOf(response, message.tool_calls !== undefined),
      },
    ],
    ...serviceTierOf(response),
    ...(usage ? { usage: writeUsage(usage) } : {}),
  }
  return { bytes: Buffer.from(JSON.stringify(json)), json, usage }
}

/** The response's own time and model; its id begins as a response's does, so the client reads ours. */
export function nameOf({ created_at: at, model }: JsonObject, { id, created, model: requested }: Identity): JsonObject {
  return {
    id,
    created: typeof at === 'number' && Number.isFinite(at) ? Math.floor(at) : created,
    model: typeof model === 'string' && model !== '' ? model : requested,
  }
}

export function serviceTierOf({ service_tier: tier }: JsonObject): JsonObject {
  return typeof tier === 'string' ? { service_tier: tier } : {}
}

function partsIn(items: readonly JsonObject[]): JsonObject[] {
  return items.filter(({ type }) => type === 'message').flatMap(({ content }) => objectsOf(content))
}

function messageOf(items: readonly JsonObject[], keeps: boolean): JsonObject {
  const parts = partsIn(items)
  const text = joined(parts, 'text')
  const refusal = joined(parts, 'refusal')
  const reasoning = items
    .filter(({ type }) => type === 'reasoning')
    .map(reasoningOf)
    .join('')
  const calls = items.flatMap((item) => callOf(item) ?? [])
  const states = keeps ? statesIn(items) : []
  const annotations = citationsIn(parts)
  return {
    role: 'assistant',
    content: text === '' && (calls.length > 0 || refusal !== '') ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...(states.length === 0 ? {} : { [STATE]: states }),
  }
}

/** Reasoning that only its vendor reads. */
export function isState({ type, encrypted_content: encrypted }: JsonObject): boolean {
  return type === 'reasoning' && typeof encrypted === 'string'
}

function statesIn(items: readonly JsonObject[]): PlacedValue[] {
  const at = { thoughts: 0, text: 0, calls: 0 }
  return items.flatMap((item) => {
    if (item.type === 'message') at.text += joined(partsIn([item]), 'text').length
    else if (item.type === 'reasoning') at.thoughts += reasoningOf(item).length
    else if (callOf(item) !== null) at.calls++
    return isState(item) ? { value: item, ...at } : []
  })
}

/** The model's reasoning where the backend shows it, else its summary. */
function reasoningOf({ content, summary }: JsonObject): string {
  return joined(objectsOf(content), 'text') || joined(objectsOf(summary), 'text')
}

function joined(parts: readonly JsonObject[], member: 'text' | 'refusal'): string {
  return parts.flatMap((part) => (typeof part[member] === 'string' ? [part[member]] : [])).join('')
}

/** A call that the client has to run; null for other items, those of hosted tools too. */
export function callOf({ type, call_id: id, name, arguments: args, input }: JsonObject): JsonObject | null {
  if (type === 'function_call') return { id, type: 'function', function: { name, arguments: args ?? '' } }
  return type === 'custom_tool_call' ? { id, type: 'custom', custom: { name, input: input ?? '' } } : null
}

function citationsIn(parts: readonly JsonObject[]): JsonObject[] {
  let begin = 0
  return parts.flatMap(({ text, annotations }) => {
    const citations = objectsOf(annotations).map((annotation) => citationOf(annotation, begin))
    if (typeof text === 'string') begin += charactersOf(text)
    return citations.filter((citation) => citation !== null)
  })
}

/** OpenAI counts characters, and JavaScript two units for an emoji. A pair that is cut between two pieces counts once, too. */
export function charactersOf(text: string): number {
  return text.length - (text.match(/[\udc00-\udfff]/g)?.length ?? 0)
}

/**
 * Chat knows the citation of an address alone. It has one text for all parts of a response, in which the citation's own
 * part starts at `begin`.
 */
export function citationOf({ type, start_index, end_index, title, url }: JsonObject, begin: number): JsonObject | null {
  const moved = (index: unknown) => (typeof index === 'number' ? begin + index : index)
  const place = { start_index: moved(start_index), end_index: moved(end_index) }
  return type === 'url_citation' ? { type, url_citation: { ...place, title, url } } : null
}

export function finishReasonOf({ status, incomplete_details: details }: JsonObject, hasCalls: boolean): string {
  if (status === 'incomplete') return membersOf(details).reason === 'content_filter' ? 'content_filter' : 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}

export function usageMember(usage: TokenUsage): JsonObject {
  return { choices: [], usage: writeUsage(usage) }
}
