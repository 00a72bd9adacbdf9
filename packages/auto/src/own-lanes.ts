/**
 * Custom lanes of an operator, learned from a description and some examples when a configuration is first used. For each
 * lane a classifier separates its examples from everyday prompts and from the other custom lanes' examples. It uses words,
 * their pieces and their clusters, so examples in one language serve others.
 */

import background from './background.json' with { type: 'json' }
import { CELL_LISTS, type Cells, CELLS, readFeatures } from './features.ts'
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

/** The buckets of all groups in one range of indices. */
interface Reading {
  cells: Int32Array
  /** A value for each bucket. */
  values: Float64Array
}

const EPOCHS = 15
const RATE = 0.1
const DECAY = 1e-4
const BIAS = CELL_LISTS.length * CELLS

export function learnLanes(lanes: readonly OwnLane[]): LearntLanes {
  const own = lanes.map(({ description, examples }) => [description, ...examples].flatMap(readTwice))
  const everyday = background.flatMap(readTwice)
  return lanes.map(({ lane }, index) => {
    const others = own.flatMap((readings, other) => (other === index ? [] : readings))
    return { laneId: lane, weights: separate(own[index] ?? [], [...everyday, ...others]) }
  })
}

/** The likeliest usable custom lane with its probability; null where none is likelier than not. */
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
  return joined(readFeatures(text, text.length), CELL_LISTS)
}

/** Each example trains twice: as it is, and by its clusters alone, as a text in a language without examples has them. */
function readTwice(text: string): Reading[] {
  const features = readFeatures(text, text.length)
  return [joined(features, CELL_LISTS), joined(features, ['senses'])]
}

function joined(features: Cells, lists: readonly (keyof Cells)[]): Reading {
  const count = lists.reduce((sum, list) => sum + features[list].length, 0)
  const reading = { cells: new Int32Array(count), values: new Float64Array(count) }
  let at = 0
  for (const list of lists) {
    const first = CELL_LISTS.indexOf(list) * CELLS
    const scale = cellScale(features[list].length)
    for (const cell of features[list]) {
      reading.cells[at] = first + cell
      reading.values[at++] = scale
    }
  }
  return reading
}

/** Logistic regression. Both sides have the same total weight, so the number of texts does not matter. */
function separate(wanted: readonly Reading[], others: readonly Reading[]): Float32Array {
  const weights = new Float32Array(BIAS + 1)
  const half = (wanted.length + others.length) / 2
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (const reading of others) step(weights, reading, 0, half / others.length)
    for (const reading of wanted) step(weights, reading, 1, half / wanted.length)
  }
  return weights
}

/** Indices stay inside their arrays, hence the exclamation marks. */
function step(weights: Float32Array, reading: Reading, target: number, weight: number): void {
  const { cells, values } = reading
  const error = (probability(weights, reading) - target) * weight
  for (let index = 0; index < cells.length; index++) {
    const current = weights[cells[index]!]!
    weights[cells[index]!] = current - RATE * (error * values[index]! + DECAY * current)
  }
  weights[BIAS]! -= 0.1 * RATE * error
}

function probability(weights: Float32Array, { cells, values }: Reading): number {
  let sum = weights[BIAS]!
  for (let index = 0; index < cells.length; index++) sum += weights[cells[index]!]! * values[index]!
  return 1 / (1 + Math.exp(-sum))
}
