/**
 * A key of a conversation whose client names no session: a digest of its beginning, which all of its turns share.
 *
 * Some of a beginning changes all the same. Clients write the time into their prompts, and mark other parts for the cache in each
 * turn. One text may come as a text or as a list with one part. None of that is part of the key.
 */

import { createHash } from 'node:crypto'
import { withoutAttribution } from '@gateway/contracts/attribution'
import type { ChatMessage } from '@gateway/contracts/chat'

/** Conversations with longer prompts differ in this beginning, or in the user's words. */
const MOST_CHARACTERS_OF_TEXT = 16_384

/** The first user message and all before it. */
export function conversationKey(messages: readonly ChatMessage[]): string {
  const hash = createHash('sha256')
  for (const { role, content } of messages) {
    for (const part of partsOf(content)) {
      const stable = stableOf(role, part)
      if (stable !== '') hash.update(JSON.stringify([role, stable]))
    }
    if (role === 'user') break
  }
  return hash.digest('base64url')
}

type Part = Exclude<ChatMessage['content'], string | null | undefined>[number]

function partsOf(content: ChatMessage['content']): readonly (string | Part)[] {
  return content == null ? [] : typeof content === 'string' ? [content] : content
}

function stableOf(role: string, part: string | Part): string {
  const text = typeof part === 'string' ? part : part.text
  if (typeof text === 'string') return withoutTimes(role === 'user' ? text : withoutAttribution(text))
  const unmarked = { ...(part as Part), cache_control: undefined, prompt_cache_breakpoint: undefined }
  return JSON.stringify(unmarked).slice(0, MOST_CHARACTERS_OF_TEXT)
}

const MONTH =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\b\\.?'
const DAY = '\\d{1,2}(?:st|nd|rd|th)?'
const TIMES = new RegExp(
  [
    // 2026-11-29, 2026-11-29T01:07:45.000Z, 29.11.2026, 2026年11月29日
    '\\d{4}[-/.年]\\d{1,2}[-/.月]\\d{1,2}日?(?:T(?=\\d))?',
    '\\d{1,2}[-/.]\\d{1,2}[-/.]\\d{4}',
    // November 29, 2026; Nov 29 2026; 29 November 2026
    `\\b${MONTH} {1,3}${DAY}\\b(?:,? {1,3}\\d{4})?`,
    `\\b${DAY}\\.? {1,3}(?:of )?${MONTH}(?:,? {1,3}\\d{4})?`,
    // 01:07:45.123+00:00, 1:07 PM
    '\\d{1,2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?(?: ?[ap]\\.?m\\b\\.?|Z\\b|[+-]\\d{2}:?\\d{2})?',
    '\\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\\b',
    '\\b(?:mon|tue|wed|thu|fri|sat|sun)\\b(?=,? *(?:\\d|\\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))',
    // Seconds or milliseconds since 1970
    '\\b[12]\\d{9}(?:\\d{3})?\\b',
  ].join('|'),
  'gi',
)

/** Conversations that differ in times alone share their prompt, too. */
function withoutTimes(text: string): string {
  return text.slice(0, MOST_CHARACTERS_OF_TEXT).replaceAll(TIMES, '')
}
