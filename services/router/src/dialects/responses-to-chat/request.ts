/**
 * A Responses request as a chat completion request. The client is informed of every parameter that is not in it.
 */

import { type JsonObject, isObject, membersOf, wordOf } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'
import { COMMON_EFFORTS, isEffort, nearestEffort, type Effort } from '../../core/effort.ts'
import type { StateSeal } from '../../core/state-seal.ts'
import { FunctionNames, toolsOf } from './function-names.ts'
import { writeMessages } from './input.ts'
import { settingsOf } from './settings.ts'
import { type OwnTools, writeTools } from './tools.ts'

/** The parts of its request that a response needs. */
export interface Echo {
  /** The settings that every response repeats. */
  settings: JsonObject
  own: OwnTools
  /** The client reads the model's thoughts as a summary of them. */
  wantsSummary: boolean
}

export interface WrittenRequest {
  chat: JsonObject
  dropped: string[]
  echo: Echo
}

/** They are in the request, are the gateway's own, or say nothing that is not in the response. */
const TRANSLATED = new Set([
  ...['input', 'instructions', 'max_output_tokens', 'temperature', 'top_p', 'top_logprobs', 'tools', 'tool_choice'],
  ...[
    'presence_penalty',
    'frequency_penalty',
    'parallel_tool_calls',
    'text',
    'reasoning',
    'include',
    'metadata',
    'store',
    'truncation',
    'user',
    'background',
  ],
  ...['previous_response_id', 'conversation'],
])

export function writeChat(request: JsonObject, states?: StateSeal, efforts?: readonly Effort[]): WrittenRequest {
  if (request.prompt != null) throw refused('prompt', 'must be left out for this model: send its text as instructions')
  const tools = toolsOf(request)
  const names = new FunctionNames(tools)
  const { messages, dropped: lostItems } = writeMessages(request, names, states)
  if (messages.length === 0) throw refused('input', 'must hold a message')
  const { members, own, dropped: lostTools } = writeTools(request, tools, names)
  const text = membersOf(request.text)
  const reasoning = membersOf(request.reasoning)
  const include = Array.isArray(request.include) ? (request.include as unknown[]) : []
  const wantsLogprobs =
    include.includes(LOGPROBS) || (typeof request.top_logprobs === 'number' && request.top_logprobs > 0)
  const chat = present({
    messages,
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    presence_penalty: request.presence_penalty,
    frequency_penalty: request.frequency_penalty,
    ...members,
    response_format: formatOf(text.format),
    reasoning_effort: effortFor(reasoning.effort, efforts),
    user: request.user,
    ...(wantsLogprobs ? { logprobs: true, top_logprobs: request.top_logprobs } : {}),
  })
  const dropped = [
    ...Object.keys(request).filter((name) => !TRANSLATED.has(name) && request[name] != null),
    ...include
      .filter((name) => name !== LOGPROBS && !(name === REASONING && states))
      .map((name) => `include.${wordOf(name)}`),
    ...membersBeside(text, ['format']).map((name) => `text.${name}`),
    ...membersBeside(reasoning, ['effort', 'summary', 'generate_summary']).map((name) => `reasoning.${name}`),
    ...(request.truncation === 'auto' ? ['truncation'] : []),
    ...lostItems,
    ...lostTools,
  ]
  const wantsSummary = (reasoning.summary ?? reasoning.generate_summary) != null
  return { chat, dropped: dropped.toSorted(), echo: { settings: settingsOf(request), own, wantsSummary } }
}

/** Servers of which nothing is known take no more than `high`; less than `low` is theirs to judge. */
function effortFor(requested: unknown, efforts: readonly Effort[] | undefined): unknown {
  const isBeyond = efforts === undefined && isEffort(requested) && nearestEffort(requested, isCommon) === 'high'
  return isBeyond ? 'high' : requested
}

function isCommon(effort: Effort): boolean {
  return COMMON_EFFORTS.includes(effort)
}

const LOGPROBS = 'message.output_text.logprobs'
/** The client gets the state of a target's reasoning in any case, since nothing is stored. */
const REASONING = 'reasoning.encrypted_content'

function membersBeside(object: JsonObject, known: readonly string[]): string[] {
  return Object.keys(object).filter((name) => !known.includes(name) && object[name] != null)
}

function formatOf(format: unknown): JsonObject | undefined {
  if (!isObject(format) || format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json_object' }
  const { name, schema, strict, description } = format
  return { type: 'json_schema', json_schema: present({ name: name ?? 'answer', schema, strict, description }) }
}

function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value != null))
}
