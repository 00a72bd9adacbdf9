/**
 * The form in which a model takes a Messages request: its way of thinking, and the parts that it refuses. The router
 * knows the form by the model's name (`vendors/claude.ts`), and a refusal corrects it. Each of the router's own choices
 * has a name, by which the target's learned rejections hold it.
 */

import { isEffort, type Effort } from './effort.ts'
import { isObject, membersOf } from '@gateway/contracts/json'
import { OWN_OF_MESSAGES, type OwnOfMessages } from './parameter-names.ts'
import { refuses, type ParameterSupport } from './parameter-support.ts'

export interface MessagesForm {
  /** The model thinks by itself, guided by an effort, or within a budget of tokens; null: it cannot think. */
  thinking: 'adaptive' | 'budget' | null
  /** A request that says nothing about thoughts gets them. */
  thinksByDefault: boolean
  /** The `thinking.type` that turns them off; null where nothing does. */
  off: 'disabled' | 'between_tools' | null
  /** Of `output_config.effort`. */
  efforts: readonly Effort[]
  /** Thoughts are empty unless the request wants a summary of them. */
  hidesThoughts: boolean
  /** A request may name the tool to be called, or want any call. */
  forcedTools: 'always' | 'without thinking' | 'never'
  /** It takes `temperature` and `top_p`, one of them, or no parameter of sampling. */
  sampling: 'both' | 'either' | 'none'
  hasStructuredOutput: boolean
}

/** `newest`: the form of a model that refuses budgets, of which nothing else is known. */
export function correctForm(form: MessagesForm, rejected: ParameterSupport, newest: MessagesForm): MessagesForm {
  if (rejected.length === 0) return form
  const is = (choice: OwnOfMessages): boolean => refuses(rejected, choice)
  let corrected = form
  if (is('thinking_budget') && form.thinking === 'budget')
    corrected = { ...newest, hasStructuredOutput: form.hasStructuredOutput }
  if (is('adaptive_thinking') && corrected.thinking === 'adaptive')
    corrected = { ...corrected, thinking: is('thinking_budget') ? null : 'budget', efforts: [], thinksByDefault: false }
  const refusedEfforts = new Set(
    rejected.filter(({ parameter }) => parameter === 'reasoning_effort').map(({ effort }) => effort),
  )
  const takes = (effort: Effort) => !refusedEfforts.has(undefined) && !refusedEfforts.has(effort)
  return {
    ...corrected,
    efforts: corrected.efforts.filter(takes),
    off: is('thinking_off') ? null : corrected.off,
    forcedTools: is('forced_tools') ? 'never' : corrected.forcedTools,
    hasStructuredOutput: corrected.hasStructuredOutput && !is('structured_output'),
  }
}

/** The choices that a request holds, as it was written. */
export function choicesIn(written: Record<string, unknown>): OwnOfMessages[] {
  const { thinking, tool_choice: choice, output_config: config } = written
  const type = membersOf(thinking).type
  const held: Record<OwnOfMessages, boolean> = {
    adaptive_thinking: type === 'adaptive',
    thinking_budget: type === 'enabled',
    thinking_off: type === 'disabled' || type === 'between_tools',
    forced_tools: ['any', 'tool'].includes(String(membersOf(choice).type)),
    structured_output: isObject(membersOf(config).format),
  }
  return OWN_OF_MESSAGES.filter((name) => held[name])
}

/** The effort in a request, in whichever API it was written; null where it has none. */
export function effortIn(written: Record<string, unknown>): Effort | null {
  const { reasoning_effort: ofChat, reasoning, output_config: config } = written
  return [ofChat, membersOf(reasoning).effort, membersOf(config).effort].find(isEffort) ?? null
}
