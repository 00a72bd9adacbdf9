/**
 * Which lane answers a message sent to the generic alias. Pure and quick: words and shapes of the last user message,
 * nothing fetched, nothing remembered. Never throws; whatever it cannot read gets the general lane.
 */

import type { ChatMessage } from '@gateway/contracts/chat'
import { type Lane, seat } from './auto/lanes.ts'

export interface AutoChoice {
  laneId: string
  /** One short stable word for the response header. */
  reason: string
}

/** `laneIds` are the lanes that may serve the request (plan, images, tools, context), in the operator's order. */
export function chooseAuto(messages: ChatMessage[], laneIds: string[]): AutoChoice {
  const { lane, reason } = judge(lastUserText(messages))
  const { laneId, wanted } = seat(lane, laneIds)
  return { laneId, reason: wanted ? reason : 'best-available' }
}

const RULES: { lane: Lane; reason: string; when: RegExp }[] = [
  { lane: 'research', reason: 'sources-asked', when: /\b(cite|sources?|citations?|references?|search the web|look up)\b/i },
  {
    lane: 'research',
    reason: 'time-sensitive',
    when: /\b(latest|today|tonight|tomorrow|right now|currently|this week|news|weather|forecast|stock price|still true)\b/i,
  },
  {
    lane: 'code',
    reason: 'code',
    when: /```|=>|\b(def|SELECT|function|regex|bash|sql|python|javascript|typescript|rust|stack trace|compile error)\b.*\b(write|fix|why|how|list|return|error)\b|\b(write|fix|implement|debug)\b.*\b(def|function|regex|script|query|sql|python|javascript|typescript|rust|code)\b/is,
  },
  { lane: 'atlas', reason: 'multi-step', when: /\b(prove|proof|integral|theorem|puzzle|how many ways)\b|\\frac|\\int|\$[^$]+\$/i },
  { lane: 'spark', reason: 'small-talk', when: /^\W*(hi|hello|hey|thanks|thank you|ok|okay|bye|good (morning|night)|lol)\b.{0,40}$/i },
  { lane: 'nova', reason: 'long-form', when: /\b(essay|story|summar|explain|compare|plan|analy[sz]e|write)\w*\b/i },
]

function judge(text: string): { lane: Lane; reason: string } {
  const rule = RULES.find(({ when }) => when.test(text))
  if (rule) return rule
  return text.length < 200 ? { lane: 'bolt', reason: 'short-answer' } : { lane: 'nova', reason: 'long-form' }
}

function lastUserText(messages: ChatMessage[]): string {
  const content = messages.findLast((message) => message.role === 'user')?.content
  if (typeof content === 'string') return content.slice(0, 4_000)
  return (content ?? [])
    .map((part) => ('text' in part && typeof part.text === 'string' ? part.text : ''))
    .join('\n')
    .slice(0, 4_000)
}
