/**
 * Custom lanes of an operator, learned from a description and some examples when a configuration is first used. For each
 * lane a classifier separates its examples from everyday prompts and from the other custom lanes' examples. It uses words,
 * their pieces and their clusters, so examples in one language serve others.
 */

import background from './background.json' with { type: 'json' }
import { HASHED_GROUPS, type HashedFeatures, BUCKETS, readFeatures } from './features.ts'
import { bucketScale } from './model.ts'

export interface CustomLaneExamples {
  lane: string
  description: string
  examples: string[]
}

interface CustomLane {
  laneId: string
  weights: Float32Array
}
export type CustomLanes = readonly CustomLane[]

/** The buckets of all groups in one range of indices. */
interface Reading {
  buckets: Int32Array
  /** A value for each bucket. */
  values: Float64Array
}

const EPOCHS = 15
const RATE = 0.1
const DECAY = 1e-4
const BIAS = HASHED_GROUPS.length * BUCKETS

export function trainCustomLanes(lanes: readonly CustomLaneExamples[]): CustomLanes {
  const own = lanes.map(({ description, examples }) => [description, ...examples].flatMap(readTwice))
  const everyday = background.flatMap(readTwice)
  return lanes.map(({ lane }, index) => {
    const others = own.flatMap((readings, other) => (other === index ? [] : readings))
    return { laneId: lane, weights: separate(own[index] ?? [], [...everyday, ...others]) }
  })
}

/** The likeliest usable custom lane with its probability; null where none is likelier than not. */
export function customLaneFor(
  lanes: CustomLanes,
  text: string,
  laneIds: readonly string[],
): { laneId: string; confidence: number } | null {
  const reading = readHashed(text)
  const found = lanes
    .filter(({ laneId }) => laneIds.includes(laneId))
    .map(({ laneId, weights }) => ({ laneId, confidence: probability(weights, reading) }))
    .reduce<{ laneId: string; confidence: number } | null>(
      (best, one) => (best && best.confidence >= one.confidence ? best : one),
      null,
    )
  return found && found.confidence > 0.5 ? found : null
}

function readHashed(text: string): Reading {
  return joined(readFeatures(text, text.length), HASHED_GROUPS)
}

/** Each example trains twice: as it is, and by its clusters alone, as a text in a language without examples has them. */
function readTwice(text: string): Reading[] {
  const features = readFeatures(text, text.length)
  return [joined(features, HASHED_GROUPS), joined(features, ['senses'])]
}

function joined(features: HashedFeatures, lists: readonly (keyof HashedFeatures)[]): Reading {
  const count = lists.reduce((sum, list) => sum + features[list].length, 0)
  const reading = { buckets: new Int32Array(count), values: new Float64Array(count) }
  let at = 0
  for (const list of lists) {
    const first = HASHED_GROUPS.indexOf(list) * BUCKETS
    const scale = bucketScale(features[list].length)
    for (const bucket of features[list]) {
      reading.buckets[at] = first + bucket
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
  const { buckets, values } = reading
  const error = (probability(weights, reading) - target) * weight
  for (let index = 0; index < buckets.length; index++) {
    const current = weights[buckets[index]!]!
    weights[buckets[index]!] = current - RATE * (error * values[index]! + DECAY * current)
  }
  weights[BIAS]! -= 0.1 * RATE * error
}

function probability(weights: Float32Array, { buckets, values }: Reading): number {
  let sum = weights[BIAS]!
  for (let index = 0; index < buckets.length; index++) sum += weights[buckets[index]!]! * values[index]!
  return 1 / (1 + Math.exp(-sum))
}
