/**
 * The form in which each generation of Claude takes a Messages request, wherever it is served. A model that no row names
 * is newer than this file: it counts as the newest generation, which takes the fewest forms. A refusal corrects the
 * rest (`core/messages-form.ts`).
 *
 * Source: platform.claude.com/docs, read in November 2026. Its pages are those on thinking, adaptive thinking, effort and
 * structured outputs, and the news of Opus 5, Opus 5.5, Sonnet 5.5 and Haiku 5.5.
 */

import { EFFORTS } from '../core/effort.ts'
import type { MessagesForm } from '../core/messages-form.ts'
import { claudeName, isBefore, type ModelName } from './model-names.ts'

const ALL = EFFORTS.slice(EFFORTS.indexOf('low'))
const WITHOUT_XHIGH = ALL.filter((effort) => effort !== 'xhigh')

/** No model before 3.7 thinks. */
const THINKLESS: MessagesForm = {
  thinking: null,
  thinksByDefault: false,
  off: null,
  efforts: [],
  hidesThoughts: false,
  forcedTools: 'always',
  sampling: 'both',
  hasStructuredOutput: false,
}
const BUDGET: MessagesForm = { ...THINKLESS, thinking: 'budget', forcedTools: 'without thinking' }
/** Since Opus 4.1 a model takes `temperature` or `top_p` (BerriAI/litellm#15097, 2025-10-01). */
const ONE_OF_SAMPLING: MessagesForm = { ...BUDGET, sampling: 'either' }
const OF_4_5: MessagesForm = { ...ONE_OF_SAMPLING, hasStructuredOutput: true }
/** It decides itself how much to think. It takes no `xhigh` (SkillfulAgents/SuperAgent#1142, 2026-09-18). */
const OF_4_6: MessagesForm = { ...OF_4_5, thinking: 'adaptive', efforts: WITHOUT_XHIGH }
/** It refuses budgets and sampling, and leaves its thoughts empty unless the request wants their summary. */
const OF_4_7: MessagesForm = { ...OF_4_6, efforts: ALL, hidesThoughts: true, sampling: 'none' }
/** It thinks where nothing is said. A forced tool goes with that (a measurement of 2026-09-24 on Vertex AI). */
const OF_5: MessagesForm = { ...OF_4_7, thinksByDefault: true, off: 'disabled', forcedTools: 'always' }
/** Nothing turns its thoughts off. */
const FABLE_5: MessagesForm = { ...OF_5, off: null }
/** Opus 5.5 and Fable 5.1 refuse forced tools, too. */
export const NEWEST: MessagesForm = { ...FABLE_5, forcedTools: 'never' }

/** A model of another make, behind the same API. */
export const OTHERS: MessagesForm = ONE_OF_SAMPLING

/** Other families began with the fifth generation. */
const OLD_FAMILIES = new Set([null, 'instant', 'opus', 'sonnet', 'haiku'])

export function messagesFormOf(model: string): MessagesForm {
  const name = claudeName(model)
  return name === null ? OTHERS : (ofOldFamily(name) ?? BY_NAME.get(spelled(name)) ?? NEWEST)
}

function ofOldFamily({ family, version }: ModelName): MessagesForm | undefined {
  if (version === null || !OLD_FAMILIES.has(family)) return undefined
  if (isBefore(version, [3, 7])) return THINKLESS
  if (isBefore(version, [4, 1])) return BUDGET
  if (isBefore(version, [4, 5])) return ONE_OF_SAMPLING
  return undefined
}

const BY_NAME = new Map<string, MessagesForm>([
  ['opus 4.5', OF_4_5],
  ['sonnet 4.5', OF_4_5],
  ['haiku 4.5', OF_4_5],
  ['opus 4.6', OF_4_6],
  ['sonnet 4.6', OF_4_6],
  ['opus 4.7', OF_4_7],
  ['opus 4.8', OF_4_7],
  ['mythos', { ...NEWEST, efforts: WITHOUT_XHIGH }],
  ['opus 5.0', OF_5],
  ['sonnet 5.0', OF_5],
  ['haiku 5.5', OF_5],
  ['fable 5.0', FABLE_5],
  ['mythos 5.0', FABLE_5],
  // Its only thoughts are then those between calls of tools.
  ['sonnet 5.5', { ...NEWEST, off: 'between_tools' }],
])

function spelled({ family, version }: ModelName): string {
  return version === null ? String(family) : `${family} ${version.major}.${version.minor}`
}
