/**
 * The text of a conversation that the choice is made on: the last user message, and the user message and answer before
 * it. Very long messages keep their head and tail, where the asking is done.
 */

import type { ChatMessage } from '@gateway/contracts/chat'

const HEAD_CHARS = 800
const TAIL_CHARS = 400

export interface Turns {
  last: string
  /** The user's message before, empty in the first turn. */
  before: string
  /** The whole length of the last message, before anything was cut. */
  lastLength: number
}

export function readTurns(messages: readonly ChatMessage[]): Turns {
  const last = messages.findLastIndex((message) => message.role === 'user')
  if (last < 0) return { last: '', before: '', lastLength: 0 }
  const text = textOf(messages[last])
  const before = messages.findLastIndex((message, index) => index < last && message.role === 'user')
  return { last: headAndTail(text), before: headAndTail(textOf(messages[before])), lastLength: text.length }
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
