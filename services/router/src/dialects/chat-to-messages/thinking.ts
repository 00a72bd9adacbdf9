/**
 * `reasoning_effort` as the API's thinking. Models from 4.6 on decide themselves how much to think, by an effort. Older
 * ones get a budget of tokens, which is a part of the response's cap.
 *
 * The rules are of platform.claude.com/docs/en/build-with-claude/thinking and adaptive-thinking, and of the types of
 * `@anthropic-ai/sdk` 1.12 (all read in November 2026).
 */

import { plainNumber } from '@gateway/contracts/json'
import type { Json } from './content.ts'

/** Claude Opus 4.7 and later refuse a budget, older models than 4.6 know no effort. */
const ADAPTIVE = /claude-(?:opus|sonnet|haiku)-(?:4-[6-9]|4-\d\d(?!\d)|[5-9](?!\d))|claude-mythos/
/** No model before 3.7 thinks. */
const THINKLESS = /claude-(?:instant|2|3-(?:opus|sonnet|haiku|5))/

const EFFORTS = new Map(
  Object.entries<string>({
    minimal: 'low',
    low: 'low',
    medium: 'medium',
    high: 'high',
    xhigh: 'xhigh',
    max: 'max',
  }),
)
/** The API takes no less than 1,024; the others are ours. */
const BUDGETS = new Map(
  Object.entries<number>({
    minimal: 1_024,
    low: 1_024,
    medium: 4_096,
    high: 16_384,
    xhigh: 32_768,
    max: 32_768,
  }),
)
const SMALLEST_BUDGET = 1_024

export interface Circumstances {
  model: string
  maxTokens: number
  /** The model must call a tool. */
  isForced: boolean
  /** A response with tool calls is being continued, and the client has not kept the thoughts before them. */
  hasLostThoughts: boolean
}

export interface ThinkingMembers {
  thinking?: Json
  effort?: string
}

/** Null where the model cannot think with the requested effort. */
export function thinkingMembers(effort: unknown, circumstances: Circumstances): ThinkingMembers | null {
  if (effort == null || effort === 'none') return {}
  const { model, maxTokens, isForced, hasLostThoughts } = circumstances
  if (typeof effort !== 'string' || !EFFORTS.has(effort) || isForced || THINKLESS.test(model)) return null
  if (ADAPTIVE.test(model)) return { thinking: { type: 'adaptive' }, effort: EFFORTS.get(effort)! }
  const budget = Math.min(BUDGETS.get(effort)!, maxTokens - 1)
  if (budget < SMALLEST_BUDGET || hasLostThoughts) return null
  return { thinking: { type: 'enabled', budget_tokens: budget } }
}

/** The way back: a Messages client's budget as the effort that it would have come from. */
export function effortOfBudget(requested: unknown): string | undefined {
  const budget = plainNumber(requested)
  if (typeof budget !== 'number') return undefined
  return ['high', 'medium', 'low'].find((effort) => budget >= BUDGETS.get(effort)!)
}
