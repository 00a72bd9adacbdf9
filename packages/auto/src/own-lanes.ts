/**
 * Lanes of an operator's own, learnt from a description and some examples when a configuration is first used: for each, how
 * much likelier than everyday prompts and the other own lanes' examples a text is. Words and pieces of words decide.
 */

import background from './background.json' with { type: 'json' }
import { CELLS, readFeatures } from './features.ts'
import { cellScale } from './model.ts'

export interface OwnLane {
  lane: string
  description: string
  examples: string[]
}

interface LearntLane {
  laneId: string
  weights: Float32Array
}
export type LearntLanes = readonly LearntLane[]

/** Cells of words first, then those of pieces. */
interface Reading {
  cells: number[]
  value: number
}

const EPOCHS = 15
const RATE = 0.1
const DECAY = 1e-4
const BIAS = 2 * CELLS

export function learnLanes(lanes: readonly OwnLane[]): LearntLanes {
  const own = lanes.map(({ description, examples }) => [description, ...examples].map(readCells))
  const everyday = background.map(readCells)
  return lanes.map(({ lane }, index) => {
    const others = own.flatMap((readings, other) => (other === index ? [] : readings))
    return { laneId: lane, weights: separate(own[index] ?? [], [...everyday, ...others]) }
  })
}

/** The likeliest of the usable own lanes, with its probability; null where none is likelier than not. */
export function ownLaneOf(
  lanes: LearntLanes,
  text: string,
  laneIds: readonly string[],
): { laneId: string; confidence: number } | null {
  const reading = readCells(text)
  const found = lanes
    .filter(({ laneId }) => laneIds.includes(laneId))
    .map(({ laneId, weights }) => ({ laneId, confidence: probability(weights, reading) }))
    .reduce<{ laneId: string; confidence: number } | null>(
      (best, one) => (best && best.confidence >= one.confidence ? best : one),
      null,
    )
  return found && found.confidence > 0.5 ? found : null
}

function readCells(text: string): Reading {
  const { words, pieces } = readFeatures(text, text.length)
  const cells = [...words, ...pieces.map((cell) => CELLS + cell)]
  return { cells, value: cellScale(cells.length) }
}

/** Logistic regression; both sides weigh the same, however many texts they have. */
function separate(wanted: readonly Reading[], others: readonly Reading[]): Float32Array {
  const weights = new Float32Array(BIAS + 1)
  const half = (wanted.length + others.length) / 2
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (const reading of others) step(weights, reading, 0, half / others.length)
    for (const reading of wanted) step(weights, reading, 1, half / wanted.length)
  }
  return weights
}

function step(weights: Float32Array, reading: Reading, target: number, weight: number): void {
  const error = (probability(weights, reading) - target) * weight
  for (const cell of reading.cells) {
    const current = weights[cell] ?? 0
    weights[cell] = current - RATE * (error * reading.value + DECAY * current)
  }
  weights[BIAS] = (weights[BIAS] ?? 0) - 0.1 * RATE * error
}

function probability(weights: Float32Array, { cells, value }: Reading): number {
  let sum = weights[BIAS] ?? 0
  for (const cell of cells) sum += (weights[cell] ?? 0) * value
  return 1 / (1 + Math.exp(-sum))
}
