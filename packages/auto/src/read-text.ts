/**
 * Reads the text that the choice depends on: the last user message, and the user message and response before it. Very long
 * messages keep their head and tail, where the request stands.
 */

import type { ChatMessage } from '@gateway/contracts/chat'

const HEAD_CHARS = 800
const TAIL_CHARS = 400
/** A message before that is this short is read with the one before it. */
const BRIEF_CHARS = 40

export interface Turns {
  last: string
  /** The user's message before, empty in the first turn. */
  before: string
  /** The assistant's response before the last message, empty in the first turn. */
  reply: string
  /** The length of the last message before a cut. */
  lastLength: number
}

export function readTurns(messages: readonly ChatMessage[]): Turns {
  const last = latest(messages, 'user', messages.length)
  if (last < 0) return { last: '', before: '', reply: '', lastLength: 0 }
  const text = textOf(messages[last])
  const before = latest(messages, 'user', last)
  return {
    last: headAndTail(text),
    before: before < 0 ? '' : requestedAt(messages, before),
    reply: before < 0 ? '' : textOf(messages[latest(messages, 'assistant', last)]),
    lastLength: text.length,
  }
}

/** The messages that `readTurns` uses: they have the same result as all messages. */
export function messagesForAuto(messages: readonly ChatMessage[]): ChatMessage[] {
  const last = latest(messages, 'user', messages.length)
  const before = latest(messages, 'user', last)
  const places = [latest(messages, 'user', before), before, latest(messages, 'assistant', last), last]
  return [...new Set(places)]
    .filter((place) => place >= 0)
    .sort((a, b) => a - b)
    .map((place) => ({ role: messages[place]!.role, content: textOf(messages[place]) }))
}

/** "And in French?" says little without the message before it. */
function requestedAt(messages: readonly ChatMessage[], at: number): string {
  const text = textOf(messages[at])
  const earlier = text.length <= BRIEF_CHARS ? latest(messages, 'user', at) : -1
  return headAndTail(earlier < 0 ? text : `${textOf(messages[earlier])}\n${text}`)
}

function latest(messages: readonly ChatMessage[], role: ChatMessage['role'], end: number): number {
  return messages.findLastIndex((message, index) => index < end && message.role === role)
}

function textOf(message: ChatMessage | undefined): string {
  const content = message?.content
  if (typeof content === 'string') return content
  return (content ?? [])
    .flatMap((part) => ('text' in part && typeof part.text === 'string' ? [part.text] : []))
    .join('\n')
}

function headAndTail(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text
  return `${text.slice(0, HEAD_CHARS)}\n${text.slice(-TAIL_CHARS)}`
}
