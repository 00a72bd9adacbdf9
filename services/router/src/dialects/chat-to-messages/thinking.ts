/**
 * `reasoning_effort` as the API's thinking, in the form that the model takes (`vendors/claude.ts`). Models from 4.6 on
 * decide themselves how much to think, by an effort. Older ones get a budget of tokens, which is a part of the
 * response's cap.
 *
 * Chat has no word for showing thoughts, and its clients read them where they come. So the newer models, which hide
 * them, are requested to sum them up.
 */

import { budgetOf, changesThinking, isEffort, nearestEffort, SMALLEST_BUDGET, type Effort } from '../../core/effort.ts'
import type { MessagesForm } from '../../core/messages-form.ts'
import type { Json } from './content.ts'

export interface Circumstances {
  form: MessagesForm
  maxTokens: number
  /** The model must call a tool. */
  isForced: boolean
  /** A response with tool calls is being continued, and the client has not kept the thoughts before them. */
  hasLostThoughts: boolean
}

export interface ThinkingMembers {
  thinking?: Json
  effort?: Effort
  /** The model does not think as the client requested. */
  isLost: boolean
}

export function thinkingMembers(requested: unknown, circumstances: Circumstances): ThinkingMembers {
  const { form, maxTokens, isForced, hasLostThoughts } = circumstances
  if (requested == null) return { ...byDefault(form), isLost: false }
  if (!isEffort(requested)) return { ...byDefault(form), isLost: true }
  if (requested === 'none' && !form.thinksByDefault) return { isLost: false }
  if (requested === 'none' && form.off !== null) return { thinking: { type: form.off }, isLost: false }
  if (form.thinking === null || (isForced && form.forcedTools === 'without thinking')) return { isLost: true }
  if (form.thinking === 'adaptive') {
    const effort = nearestEffort(requested, (one) => form.efforts.includes(one))
    if (effort === null) return { thinking: adaptive(form), isLost: true }
    return { thinking: adaptive(form), effort, isLost: changesThinking(requested, effort) }
  }
  const budget = requested === 'none' ? 0 : Math.min(budgetOf(requested), maxTokens - 1)
  if (budget < SMALLEST_BUDGET || hasLostThoughts) return { isLost: true }
  return { thinking: { type: 'enabled', budget_tokens: budget }, isLost: false }
}

function adaptive({ hidesThoughts }: MessagesForm): Json {
  return { type: 'adaptive', ...(hidesThoughts ? { display: 'summarized' } : {}) }
}

/** The model thinks anyway, and its text between two calls of tools is a thought, too. */
function byDefault(form: MessagesForm): { thinking?: Json } {
  return form.thinksByDefault && form.hidesThoughts ? { thinking: adaptive(form) } : {}
}
