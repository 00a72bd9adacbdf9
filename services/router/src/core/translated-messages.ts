/**
 * The messages of a translated conversation as their vendor takes them. Its thoughts are sent back or left out, and the
 * turns have the order of the chat templates of open models. Those want one system message, the first, then the user
 * and the model by turns. Mistral's and Gemma's refuse two turns of one role (vllm-project/vllm#6862, 2024-07-27).
 * Qwen's refuse a system message that comes later (lyracode-app/Lyra-Code#30, 2026). Coding tools write both.
 *
 * The router writes only translated conversations so: a client of chat has chosen its messages itself.
 */

import { type JsonObject, isObject } from '@gateway/contracts/json'
import { joinedStates } from './reasoning-state.ts'

/** A vendor's rules for the messages of a conversation. */
export interface MessageRules {
  /** `any`: it takes messages in any order. `alternating`: it wants the turns of a chat template. */
  order: 'any' | 'alternating'
  /**
   * Thoughts go back to it: the templates of open models read those before tool calls. Other vendors reject the
   * member, or make nothing of it.
   */
  takesReasoning: boolean
  /** False: behind results of tools it takes nothing but the model's own turn. */
  takesUserAfterTool?: boolean
}

export function messagesFor(rules: MessageRules, messages: readonly JsonObject[]): readonly JsonObject[] {
  const written = rules.takesReasoning ? messages : withoutReasoning(messages)
  if (rules.order === 'any') return written
  const turns = alternating(written)
  return rules.takesUserAfterTool === false ? withinResults(turns) : turns
}

/** A user's words behind the results of tools become part of the last result, in the words of a reminder. */
function withinResults(turns: readonly JsonObject[]): JsonObject[] {
  const written: JsonObject[] = []
  for (const turn of turns) {
    const last = written.at(-1)
    if (last?.role !== 'tool' || turn.role !== 'user') written.push(turn)
    else written[written.length - 1] = { ...last, content: joinedContent(last.content, turn.content) }
  }
  return written
}

function joinedContent(result: unknown, words: unknown): unknown {
  const texts = partsOf(words)
  const isText = texts.every((part) => isObject(part) && typeof part.text === 'string')
  if (typeof result === 'string' && isText) return `${result}\n\n${remindedOf(words)}`
  return [...partsOf(result), ...texts]
}

export function withoutReasoning(messages: readonly JsonObject[]): readonly JsonObject[] {
  return messages
    .map((message) => {
      const { reasoning_content: _, ...rest } = message
      return rest
    })
    .filter(({ role, content, tool_calls: calls }) => role !== 'assistant' || content !== null || calls !== undefined)
}

export function alternating(messages: readonly JsonObject[]): JsonObject[] {
  const turns: Turn[] = []
  let hasBegun = false
  for (const message of messages) {
    const isLate = message.role === 'system' && hasBegun
    hasBegun ||= message.role !== 'system'
    const next = isLate ? { role: 'user', content: remindedOf(message.content) } : message
    const last = turns.at(-1)
    if (last && isOneTurn(last.message, next)) join(last, next)
    else turns.push({ message: next, parts: null })
  }
  return turns.map(({ message, parts }) => (parts === null ? message : { ...message, content: parts }))
}

interface Turn {
  message: JsonObject
  /** All contents that were joined, once one of them is a list. Thousands of messages may add to it. */
  parts: unknown[] | null
}

/** Writes it in the words by which coding tools report it within a user's turn. */
export function remindedOf(content: unknown): string {
  return `<system-reminder>\n${textOf(content)}\n</system-reminder>`
}

/** Results of tools stand alone, and behind calls nothing but them. */
function isOneTurn(last: JsonObject, next: JsonObject): boolean {
  return last.role === next.role && last.role !== 'tool' && last.tool_calls === undefined
}

function join(turn: Turn, next: JsonObject): void {
  const before = turn.parts ?? turn.message.content
  const after = next.content
  const states = joinedStates(turn.message, next)
  turn.message = { ...turn.message, ...next, content: before, ...joinedThoughts(turn.message, next), ...states }
  // The state is part of one response, and stands between its words.
  const between = states === undefined ? '\n\n' : ''
  if (after == null || after === '') return
  if (before == null || before === '') turn.message.content = after
  else if (typeof before === 'string' && typeof after === 'string') turn.message.content = `${before}${between}${after}`
  else {
    turn.parts ??= [...partsOf(before)]
    for (const part of partsOf(after)) turn.parts.push(part)
  }
}

/** By concatenation, which copies nothing. */
function joinedThoughts({ reasoning_content: before }: JsonObject, next: JsonObject): JsonObject | undefined {
  const { reasoning_content: after } = next
  const areBoth = typeof before === 'string' && typeof after === 'string'
  return areBoth ? { reasoning_content: `${before}\n\n${after}` } : undefined
}

function partsOf(content: unknown): unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}

function textOf(content: unknown): string {
  return partsOf(content)
    .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('\n\n')
}
