/**
 * Which lane answers a message sent to the generic alias: decided by a small trained model (`auto/`) from the last user
 * message, read in the light of the one before. Pure and quick: nothing fetched, nothing remembered, well under a
 * millisecond. Never throws on a parsed request; what it cannot read gets the general lane.
 */

import type { ChatMessage } from '@gateway/contracts/chat'
import { follow, type Features, readFeatures } from './features.ts'
import { type Lane, LANES, seat } from './lanes.ts'
import modelFile from './model.json' with { type: 'json' }
import { laneShares, unpackModel } from './model.ts'
import { readTurns } from './read-text.ts'
import { FOLLOW_UP_REASON, NO_TEXT_REASON, reasonFor, STAND_IN_REASON } from './reasons.ts'

const NETWORKS = unpackModel(modelFile)

export interface AutoChoice {
  laneId: string
  /** One short stable word for the response header. */
  reason: string
  /** The share of the chosen lane, from 0 to 1; none where nothing was read or another lane stands in. */
  confidence?: number
}

/** `laneIds` are the lanes that may serve the request (plan, images, tools, context), in the operator's order. */
export function chooseAuto(messages: ChatMessage[], laneIds: string[]): AutoChoice {
  const { lane, reason, confidence } = judge(messages)
  const { laneId, wanted } = seat(lane, laneIds)
  if (!wanted) return { laneId, reason: STAND_IN_REASON }
  return confidence === undefined ? { laneId, reason } : { laneId, reason, confidence }
}

interface Judgement {
  lane: Lane
  reason: string
  confidence?: number
}

function judge(messages: ChatMessage[]): Judgement {
  const { last, before, lastLength } = readTurns(messages)
  if (last.trim() === '') return { lane: 'nova', reason: NO_TEXT_REASON }
  const alone = readFeatures(last, lastLength)
  const { lane, confidence } = likeliest(alone)
  if (before === '') return { lane, reason: reasonFor(lane, alone), confidence }
  const inContext = likeliest(follow(alone, last, laneShares(NETWORKS, readFeatures(before, before.length))))
  return { ...inContext, reason: inContext.lane === lane ? reasonFor(lane, alone) : FOLLOW_UP_REASON }
}

function likeliest(features: Features): { lane: Lane; confidence: number } {
  const shares = laneShares(NETWORKS, features)
  const confidence = Math.max(...shares)
  return { lane: LANES[shares.indexOf(confidence)] ?? 'nova', confidence }
}
