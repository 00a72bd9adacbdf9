/**
 * A Messages request as a chat completion request. The client is informed of every parameter that is not in it, and reads a
 * refusal where the loss would change the meaning.
 */

import { createHash } from 'node:crypto'
import { refused } from '../../core/backend-fault.ts'
import { COMMON_EFFORTS, effortOfBudget, isEffort, nearestEffort, type Effort } from '../../core/effort.ts'
import type { StateSeal } from '../../core/state-seal.ts'
import { type JsonObject, isObject, membersOf, objectsOf } from '@gateway/contracts/json'
import { messagesOf, systemOf } from './content.ts'
import { toolMembers } from './tools.ts'

/** The parts of the request that reading the response needs. */
export interface Echo {
  /** The client requested thoughts, so it expects their blocks. */
  showsThinking: boolean
  /** Its software knows blocks of thoughts: it has requested thoughts or brings tools. Other readers expect a text first. */
  keepsState: boolean
}

export interface WrittenChat {
  chat: JsonObject
  /** The client's parameters that are not in it. */
  dropped: string[]
  echo: Echo
}

/** They are in the request, or say nothing that is not. */
const TRANSLATED = new Set([
  ...['messages', 'system', 'max_tokens', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'tools', 'tool_choice'],
  ...['metadata', 'output_config', 'thinking'],
])

export function writeChat(requested: JsonObject, states?: StateSeal, efforts?: readonly Effort[]): WrittenChat {
  // By the API it fills the prompt cache and generates nothing, for which chat has no word.
  if (requested.max_tokens === 0) throw refused('max_tokens', 'must be 1 or more for this model')
  const lost = new Set(Object.keys(requested).filter((name) => !TRANSLATED.has(name) && requested[name] != null))
  const chat = {
    messages: [...systemOf(requested.system, lost), ...messagesOf(requested.messages, lost, states)],
    max_tokens: requested.max_tokens,
    temperature: requested.temperature ?? undefined,
    top_p: requested.top_p ?? undefined,
    top_k: requested.top_k ?? undefined,
    stop:
      Array.isArray(requested.stop_sequences) && requested.stop_sequences.length > 0
        ? requested.stop_sequences
        : undefined,
    ...toolMembers(requested, lost),
    response_format: formatOf(requested.output_config, lost),
    reasoning_effort: effortOf(requested, efforts, lost),
    user: isObject(requested.metadata) ? userOf(requested.metadata.user_id) : undefined,
  }
  const keepsState = isEnabled(requested.thinking) || objectsOf(requested.tools).length > 0
  const echo = { showsThinking: showsThinking(requested.thinking), keepsState }
  return { chat, dropped: [...lost].toSorted(), echo }
}

/** The letters of an identifier that every vendor takes. OpenRouter takes no more than 128 letters, Claude Code sends 150 (ujisati/claude-code-provider-proxy#11, 2025-07-21). */
const USER = /^[\w-]{1,64}$/

/** A digest still distinguishes one user from another. */
function userOf(id: unknown): string | undefined {
  if (typeof id !== 'string') return undefined
  return USER.test(id) ? id : createHash('sha256').update(id).digest('hex')
}

function formatOf(config: unknown, lost: Set<string>): JsonObject | undefined {
  if (!isObject(config)) return undefined
  const { format, effort: _effort, ...rest } = config
  for (const name of Object.keys(rest)) if (rest[name] != null) lost.add(`output_config.${name}`)
  if (!isObject(format)) return undefined
  if (format.type !== 'json_schema') {
    lost.add('output_config.format')
    return undefined
  }
  // The API holds responses to the schema, so the target must be as strict.
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format.schema, strict: true } }
}

/**
 * An effort goes before a budget. Chat has no word for thinking as the model sees fit. That the model shall not think is an
 * effort of `none`, where the target is known to take that.
 */
function effortOf(
  { thinking, output_config: config }: JsonObject,
  efforts: readonly Effort[] | undefined,
  lost: Set<string>,
): Effort | undefined {
  const requested = isObject(config) ? config.effort : undefined
  const { type, budget_tokens: budget } = membersOf(thinking)
  if (type === 'disabled' && efforts?.includes('none')) return 'none'
  const taken = efforts ?? COMMON_EFFORTS
  const wished = requested == null ? effortOfBudget(budget) : isEffort(requested) ? requested : undefined
  const effort = wished && nearestEffort(wished, (one) => taken.includes(one))
  if (requested != null && effort == null) lost.add('output_config.effort')
  if (thinking != null && (effort == null || type === 'disabled')) lost.add('thinking')
  return effort ?? undefined
}

function isEnabled(thinking: unknown): thinking is JsonObject {
  return isObject(thinking) && thinking.type !== 'disabled'
}

function showsThinking(thinking: unknown): boolean {
  return isEnabled(thinking) && thinking.display !== 'omitted'
}
