/**
 * Chooses the lane for a message to the generic alias. A small trained model decides from the last user message, in the
 * context of the one before. The function is pure, keeps no state and takes well under a millisecond. It never throws on
 * a parsed request, and a message without text gets the general lane.
 */

import type { ChatMessage } from '@gateway/contracts/chat'
import { follow, type Features, readFeatures } from './features.ts'
import { type Lane, LANE_IDS, LANES, slot } from './lanes.ts'
import { type LearntLanes, ownLaneOf } from './own-lanes.ts'
import { laneShares, readModel } from './model.ts'
import { readTurns } from './read-text.ts'
import {
  FOLLOW_UP_REASON,
  COST_PREFERENCE_REASONS,
  NO_TEXT_REASON,
  OWN_LANE_REASON,
  reasonFor,
  STAND_IN_REASON,
} from './reasons.ts'

const NETWORK = readModel()

export interface AutoChoice {
  laneId: string
  /** One short stable word for the response header. */
  reason: string
  /** The probability of the chosen lane. Absent where there was no text, or where a fallback takes its place. */
  confidence?: number
}

/** Decides among several adequate lanes: for the cheapest, or for the best, which is the dearest. */
export interface CostPreference {
  towards: 'cheapest' | 'best'
  multiplierOf(laneId: string): number
}

export interface Options {
  costPreference?: CostPreference | undefined
  /** The operator's lanes beside the six. */
  own?: LearntLanes | undefined
}

/** A message up to this length is read after the one before. */
const BRIEF_CHARS = 25
/** A lane is adequate if its probability is at least this part of the likeliest one's. */
const WILL_DO = 0.4

/** `laneIds` are the lanes that may serve the request (plan, images, tools, context), in the operator's order. */
export function chooseAuto(
  messages: ChatMessage[],
  laneIds: string[],
  { costPreference, own }: Options = {},
): AutoChoice {
  const ownLane = own?.length ? ownLaneOf(own, requestedText(messages), laneIds) : null
  if (ownLane) return { ...ownLane, reason: OWN_LANE_REASON }
  const judgement = judge(messages)
  const { lane, reason, confidence } = costPreference ? preferenceOn(judgement, laneIds, costPreference) : judgement
  const { laneId, wanted } = slot(lane, laneIds)
  if (!wanted) return { laneId, reason: STAND_IN_REASON }
  return confidence === undefined ? { laneId, reason } : { laneId, reason, confidence }
}

interface CheckResult {
  lane: Lane
  reason: string
  confidence?: number
  /** One per lane, in the order of `LANES`; absent where there was no text. */
  shares?: Float64Array
}

function preferenceOn(
  judgement: CheckResult,
  laneIds: readonly string[],
  { towards, multiplierOf }: CostPreference,
): CheckResult {
  const { lane, shares, confidence = 1 } = judgement
  if (!shares) return judgement
  const sign = towards === 'cheapest' ? 1 : -1
  const cost = (candidate: Lane): number => sign * multiplierOf(LANE_IDS[candidate])
  const willDo = LANES.filter(
    (candidate, index) => (shares[index] ?? 0) >= WILL_DO * confidence && laneIds.includes(LANE_IDS[candidate]),
  )
  const least = Math.min(...willDo.map(cost))
  const pick = willDo.includes(lane) && cost(lane) === least ? lane : willDo.find((one) => cost(one) === least)
  if (pick === undefined || pick === lane) return judgement
  return { lane: pick, reason: COST_PREFERENCE_REASONS[towards], confidence: shares[LANES.indexOf(pick)] ?? 0 }
}

function judge(messages: ChatMessage[]): CheckResult {
  const turns = readTurns(messages)
  const { last, before, lastLength } = turns
  if (last.trim() === '') return { lane: 'nova', reason: NO_TEXT_REASON }
  const alone = readFeatures(last, lastLength)
  const first = likeliest(alone)
  const { lane } = first
  if (before === '') return { ...first, reason: reasonFor(lane, alone) }
  const inContext = likeliest(follow(alone, turns, laneShares(NETWORK, readFeatures(before, before.length))))
  return { ...inContext, reason: inContext.lane === lane ? reasonFor(lane, alone) : FOLLOW_UP_REASON }
}

/** The last message. A brief one comes after the message before it. */
function requestedText(messages: ChatMessage[]): string {
  const { last, before } = readTurns(messages)
  return last.length <= BRIEF_CHARS ? `${before}\n${last}` : last
}

function likeliest(features: Features): { lane: Lane; confidence: number; shares: Float64Array } {
  const shares = laneShares(NETWORK, features)
  const confidence = Math.max(...shares)
  return { lane: LANES[shares.indexOf(confidence)] ?? 'nova', confidence, shares }
}
