/**
 * Chooses the lane for a message to the generic alias. A small trained model decides from the last user message, in the
 * context of the one before. The function is pure, keeps no state and takes well under a millisecond. It never throws on
 * a parsed request, and a message without text gets the general lane.
 */

import type { ChatMessage } from '@gateway/contracts/chat'
import { withContext, type Features, readFeatures } from './features.ts'
import { type Lane, LANE_IDS, LANES, usableLane } from './lanes.ts'
import { type CustomLanes, customLaneFor } from './custom-lanes.ts'
import { laneProbabilities, readModel } from './model.ts'
import { readTurns } from './read-text.ts'
import {
  FOLLOW_UP_REASON,
  COST_PREFERENCE_REASONS,
  NO_TEXT_REASON,
  CUSTOM_LANE_REASON,
  reasonFor,
  FALLBACK_REASON,
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
  customLanes?: CustomLanes | undefined
}

/** A message up to this length is read after the one before. */
const BRIEF_CHARS = 25
/** A lane is adequate if its probability is at least this part of the likeliest one's. */
const ADEQUATE_SHARE = 0.4

/** `laneIds` are the lanes that may serve the request (plan, images, tools, context), in the operator's order. */
export function chooseAuto(
  messages: ChatMessage[],
  laneIds: string[],
  { costPreference, customLanes }: Options = {},
): AutoChoice {
  const customLane = customLanes?.length ? customLaneFor(customLanes, requestedText(messages), laneIds) : null
  if (customLane) return { ...customLane, reason: CUSTOM_LANE_REASON }
  const classification = classify(messages)
  const { lane, reason, confidence } = costPreference
    ? applyCostPreference(classification, laneIds, costPreference)
    : classification
  const { laneId, wanted } = usableLane(lane, laneIds)
  if (!wanted) return { laneId, reason: FALLBACK_REASON }
  return confidence === undefined ? { laneId, reason } : { laneId, reason, confidence }
}

interface Classification {
  lane: Lane
  reason: string
  confidence?: number
  /** One per lane, in the order of `LANES`; absent where there was no text. */
  probabilities?: Float64Array
}

function applyCostPreference(
  classification: Classification,
  laneIds: readonly string[],
  { towards, multiplierOf }: CostPreference,
): Classification {
  const { lane, probabilities, confidence = 1 } = classification
  if (!probabilities) return classification
  const sign = towards === 'cheapest' ? 1 : -1
  const cost = (candidate: Lane): number => sign * multiplierOf(LANE_IDS[candidate])
  const adequate = LANES.filter(
    (candidate, index) =>
      (probabilities[index] ?? 0) >= ADEQUATE_SHARE * confidence && laneIds.includes(LANE_IDS[candidate]),
  )
  const least = Math.min(...adequate.map(cost))
  const pick = adequate.includes(lane) && cost(lane) === least ? lane : adequate.find((one) => cost(one) === least)
  if (pick === undefined || pick === lane) return classification
  return { lane: pick, reason: COST_PREFERENCE_REASONS[towards], confidence: probabilities[LANES.indexOf(pick)] ?? 0 }
}

function classify(messages: ChatMessage[]): Classification {
  const turns = readTurns(messages)
  const { last, before, lastLength } = turns
  if (last.trim() === '') return { lane: 'nova', reason: NO_TEXT_REASON }
  const alone = readFeatures(last, lastLength)
  const first = likeliest(alone)
  const { lane } = first
  if (before === '') return { ...first, reason: reasonFor(lane, alone) }
  const inContext = likeliest(
    withContext(alone, turns, laneProbabilities(NETWORK, readFeatures(before, before.length))),
  )
  return { ...inContext, reason: inContext.lane === lane ? reasonFor(lane, alone) : FOLLOW_UP_REASON }
}

/** The last message. A brief one comes after the message before it. */
function requestedText(messages: ChatMessage[]): string {
  const { last, before } = readTurns(messages)
  return last.length <= BRIEF_CHARS ? `${before}\n${last}` : last
}

function likeliest(features: Features): { lane: Lane; confidence: number; probabilities: Float64Array } {
  const probabilities = laneProbabilities(NETWORK, features)
  const confidence = Math.max(...probabilities)
  return { lane: LANES[probabilities.indexOf(confidence)] ?? 'nova', confidence, probabilities }
}
