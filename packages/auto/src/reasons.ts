/**
 * Why a lane was chosen, in one short stable word for the response header.
 */

import type { Cue } from './find-cues.ts'
import { cueInAsk, type Features } from './features.ts'
import type { Lane } from './lanes.ts'

/** The first word whose cues are present stands; the last of a lane's needs none. */
const REASONS: Record<Lane, { word: string; cues?: Cue[] }[]> = {
  spark: [{ word: 'small-task', cues: ['device', 'tiny'] }, { word: 'small-talk' }],
  bolt: [{ word: 'rewording', cues: ['reword'] }, { word: 'short-answer' }],
  nova: [{ word: 'long-form' }],
  atlas: [{ word: 'proof', cues: ['proof'] }, { word: 'multi-step' }],
  research: [
    { word: 'sources-asked', cues: ['sources'] },
    { word: 'time-sensitive', cues: ['now', 'weather', 'news', 'market', 'place'] },
    { word: 'field-report', cues: ['report'] },
    { word: 'live-lookup' },
  ],
  code: [{ word: 'code' }],
}

/** Another lane answers in the chosen one's place: the plan or the request's needs rule the chosen one out. */
export const STAND_IN_REASON = 'best-available'
/** One of the operator's own lanes. */
export const OWN_LANE_REASON = 'own-lane'
/** Several lanes would do, and the plan prefers this one. */
export const LEAN_REASONS = { cheapest: 'cheapest-that-does', best: 'best-that-fits' } as const
/** The message only makes sense after the one before, whose lane it takes. */
export const FOLLOW_UP_REASON = 'follow-up'
/** Nothing to read: images alone, or no user message. */
export const NO_TEXT_REASON = 'no-text'

export function reasonFor(lane: Lane, features: Features): string {
  const found = REASONS[lane].find(({ cues }) => !cues || cues.some((cue) => cueInAsk(features, cue)))
  return found?.word ?? lane
}
