/**
 * Tool calls of a conversation as the next vendor takes them. A conversation may go on with another vendor than the one
 * that named its calls.
 *
 * An id has the letters and the length that the vendor takes. It matters only within its request, so the same id always
 * becomes the same other one, and the router keeps nothing. Some models also want a signature of their thoughts beside
 * a call.
 */

import { parseExactly, isObject, type JsonObject } from '@gateway/contracts/json'
import { createHash } from 'node:crypto'

export interface IdRule {
  takes: RegExp
  write(digest: string): string
}

/** The rules of a vendor for the calls in a conversation. */
export interface ToolCallRules {
  /** Where it does not take every id. */
  ids?: IdRule
  /** Models that want a signature of their thoughts beside a call. */
  needsSignature?(model: string): boolean
}

/** An id in OpenAI's form. */
export const callId = (digest: string) => `call_${digest.slice(0, 24)}`

/** Anthropic: maximhq/bifrost#5097 (2026-07-10). */
export const ANTHROPIC_IDS: IdRule = { takes: /^[\w-]+$/, write: callId }
/** A chat completion request with tool calls for this target: the same bytes where they are so already. */
export function writeToolCalls(body: Buffer, model: string, { ids, needsSignature }: ToolCallRules): Buffer {
  const named = ids ? withFittingIds(body, ids) : body
  return needsSignature?.(model) ? withSignatures(named) : named
}

export function fitId(id: unknown, { takes, write }: IdRule): unknown {
  return typeof id !== 'string' || takes.test(id) ? id : write(digestOf(id))
}

/** An id that every vendor but Mistral takes, for a call that has none. */
export function newId(seed: string): string {
  return callId(digestOf(seed))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Results name their calls, and no call is without a result. One that is written with a backslash ends there. */
const RESULT_ID = /"tool_call_id":"([^"\\]*["\\])/g

function withFittingIds(body: Buffer, rule: IdRule): Buffer {
  if (!body.includes('"tool_call_id":')) return body
  const text = body.toString('utf8')
  const ids = [...text.matchAll(RESULT_ID)].map(([, id]) => id!)
  if (ids.every((id) => id.endsWith('"') && rule.takes.test(id.slice(0, -1)))) return body
  const chat = parseExactly(text) as JsonObject
  const messages = Array.isArray(chat.messages) ? chat.messages : []
  return Buffer.from(JSON.stringify({ ...chat, messages: messages.map((message) => fitted(message, rule)) }))
}

function fitted(message: unknown, rule: IdRule): unknown {
  if (!isObject(message)) return message
  const { tool_call_id: id, tool_calls: calls } = message
  return {
    ...message,
    ...(id === undefined ? null : { tool_call_id: fitId(id, rule) }),
    ...(Array.isArray(calls) ? { tool_calls: calls.map((call) => fittedCall(call, rule)) } : null),
  }
}

function fittedCall(call: unknown, rule: IdRule): unknown {
  return isObject(call) ? { ...call, id: fitId(call.id, rule) } : call
}

/** Google's word for a call that was not its model's (ai.google.dev/gemini-api/docs/thought-signatures by vercel/ai#15560, 2026-05-27). */
const UNSIGNED = { google: { thought_signature: 'skip_thought_signature_validator' } }

/** The first of several calls bears the signature. */
export function withSignatures(body: Buffer): Buffer {
  if (!body.includes('"tool_calls":')) return body
  const chat = parseExactly(body.toString('utf8')) as JsonObject
  if (!Array.isArray(chat.messages)) return body
  const messages = (chat.messages as unknown[]).map(signed)
  return Buffer.from(JSON.stringify({ ...chat, messages }))
}

function signed(message: unknown): unknown {
  if (!isObject(message) || !Array.isArray(message.tool_calls)) return message
  const [first, ...others] = message.tool_calls as unknown[]
  if (!isObject(first) || isObject(first.extra_content)) return message
  return { ...message, tool_calls: [{ ...first, extra_content: UNSIGNED }, ...others] }
}

/** A model may have written no object: then the reader sees the text, as in a stream. */
export function objectOfArguments(text: unknown): JsonObject {
  if (isObject(text)) return text
  if (typeof text !== 'string' || text.trim() === '') return {}
  try {
    const value: unknown = parseExactly(text)
    if (isObject(value)) return value
  } catch {
    // The object below carries the text.
  }
  return { invalid_arguments: text }
}
