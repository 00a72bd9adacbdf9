/**
 * Thoughts that are not Anthropic's: of a model that signs none, and those with sealed state of another target. A client sends them back
 * with the conversation, and a server of Anthropic's refuses a signature that is not its own. So no such server sees them.
 */

import { parseExactly, isObject, type JsonObject } from '@gateway/contracts/json'
import { MARKED_TOKEN, openState } from '../../core/reasoning-state.ts'
import type { StateSeal } from '../../core/state-seal.ts'

export const UNSIGNED = 'svc_unsigned'

export interface Signed {
  /** The same bytes where nothing was taken out. */
  body: Buffer
  dropped: string[]
}

/** Refuses a forged state, where `states` opens them. */
export function withoutUnsigned(body: Buffer, states?: StateSeal): Signed {
  if (!body.includes(`"${UNSIGNED}"`) && !body.includes(MARKED_TOKEN)) return { body, dropped: [] }
  const requested = parseExactly(body.toString('utf8')) as JsonObject
  const messages = Array.isArray(requested.messages) ? (requested.messages as unknown[]) : []
  const kept = messages.map((message, index) => signedOnly(message, `messages[${index}]`, states))
  if (kept.every((message, at) => message === messages[at])) return { body, dropped: [] }
  const request: JsonObject = { ...requested, messages: kept.filter((message) => message !== null) }
  const dropped = expectsThoughts(requested, messages) ? ['thinking'] : []
  for (const name of dropped) delete request[name]
  return { body: Buffer.from(JSON.stringify(request)), dropped }
}

/** Null where nothing is left of it. */
function signedOnly(message: unknown, field: string, states: StateSeal | undefined): unknown {
  if (!isObject(message) || message.role !== 'assistant' || !Array.isArray(message.content)) return message
  const content = message.content.filter(
    (block, at) => !isObject(block) || !isAlien(block, `${field}.content[${at}]`, states),
  )
  if (content.length === message.content.length) return message
  return content.length === 0 ? null : { ...message, content }
}

function isAlien({ type, signature, data }: JsonObject, field: string, states: StateSeal | undefined): boolean {
  if (type === 'redacted_thinking') return openState(states, data, `${field}.data`) !== null
  return signature === UNSIGNED || openState(states, signature, `${field}.signature`) !== null
}

/** With a budget of thoughts the API demands those before a tool's results. */
function expectsThoughts({ thinking }: JsonObject, messages: unknown[]): boolean {
  const last = messages.at(-1)
  const inToolLoop =
    isObject(last) &&
    Array.isArray(last.content) &&
    last.content.some((block) => isObject(block) && block.type === 'tool_result')
  return inToolLoop && isObject(thinking) && thinking.type === 'enabled'
}
