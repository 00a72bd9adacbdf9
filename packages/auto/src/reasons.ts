/**
 * The reason for a choice, as one short stable word for the response header.
 */

import type { LexicalFeature } from './lexical-features.ts'
import { hasLexicalFeature, type Features } from './features.ts'
import type { Lane } from './lanes.ts'

/** The first reason with a feature in the request applies; the last one of each lane needs none. */
const REASONS: Record<Lane, { word: string; lexicalFeatures?: LexicalFeature[] }[]> = {
  spark: [{ word: 'small-task', lexicalFeatures: ['device', 'tiny'] }, { word: 'small-talk' }],
  bolt: [{ word: 'rewording', lexicalFeatures: ['reword'] }, { word: 'short-answer' }],
  nova: [{ word: 'long-form' }],
  atlas: [{ word: 'proof', lexicalFeatures: ['proof'] }, { word: 'multi-step' }],
  research: [
    { word: 'sources-asked', lexicalFeatures: ['sources'] },
    { word: 'time-sensitive', lexicalFeatures: ['now', 'weather', 'news', 'market', 'place'] },
    { word: 'field-report', lexicalFeatures: ['report'] },
    { word: 'live-lookup' },
  ],
  code: [{ word: 'code' }],
}

/** A fallback takes the chosen lane's place: the plan or the request's needs rule the chosen lane out. */
export const FALLBACK_REASON = 'best-available'
/** One of the operator's custom lanes. */
export const CUSTOM_LANE_REASON = 'own-lane'
/** Several lanes are adequate, and the plan prefers this one. */
export const COST_PREFERENCE_REASONS = { cheapest: 'cheapest-that-does', best: 'best-that-fits' } as const
/** The message only makes sense after the one before, whose lane it takes. */
export const FOLLOW_UP_REASON = 'follow-up'
/** Nothing to read: images alone, or no user message. */
export const NO_TEXT_REASON = 'no-text'

export function reasonFor(lane: Lane, features: Features): string {
  const found = REASONS[lane].find(
    ({ lexicalFeatures }) =>
      !lexicalFeatures || lexicalFeatures.some((lexicalFeature) => hasLexicalFeature(features, lexicalFeature)),
  )
  return found?.word ?? lane
}
