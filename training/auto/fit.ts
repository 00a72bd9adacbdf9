/**
 * Fits the model: a small hidden layer over the dense features plus a linear layer over everything, by Adagrad, seeded,
 * on one core. Indices stay inside their arrays, hence the exclamation marks. Whole families of features are dropped at
 * random, so that those which carry over between sources win.
 */

import { LANES } from '../../packages/auto/src/lanes.ts'
import { bucketScale, type HashedWeights, type Network, softmax } from '../../packages/auto/src/model.ts'
import {
  HASHED_GROUPS,
  BUCKETS,
  type HashedFeatures,
  DENSE_NAMES,
  type Features,
  EMBEDDINGS_AT,
} from '../../packages/auto/src/features.ts'

export interface Example {
  features: Features
  /** One share per lane, together 1. */
  target: Float64Array
  /** 1 for each lane that will do, else 0. */
  accepted: Float64Array
  weight: number
}

export interface FitOptions {
  seed: number
  hidden: number
  epochs: number
  rate: number
  /** Decay of the weights of each family per step, relative to the rate. */
  decayDense: number
  decayInner: number
  decayHashed: number
  dropDense: number
  dropHashed: number
  /** The part of a target that the network may divide among the accepted lanes by itself. */
  freedom: number
  /** The share of examples that lose all hashed features of a group. */
  dropAll: Record<keyof HashedFeatures, number>
  dropEmbeddings: number
}

export const FIT: FitOptions = {
  seed: 7,
  hidden: 32,
  epochs: 20,
  rate: 0.08,
  decayDense: 3e-3,
  decayInner: 3e-3,
  decayHashed: 2e-3,
  dropDense: 0.1,
  dropHashed: 0.3,
  freedom: 0.5,
  dropAll: { words: 0.5, pieces: 0.2, senses: 0.3 },
  dropEmbeddings: 0.3,
}

const DENSE = DENSE_NAMES.length
const COUNT = LANES.length
/** One weight per dense feature and a bias. */
const INNER_ROWS = DENSE + 1
const START_SPREAD = 0.3
const START_SQUARE = 0.01

/** The state of a fit: the weights, their sums of squared gradients (Adagrad), and space for one example. */
interface Workbench {
  network: Network
  squares: HashedWeights & Pick<Network, 'inner' | 'outer'>
  units: Float64Array
  unitErrors: Float64Array
  scores: Float64Array
  /** The dense features kept of the example at hand. */
  kept: Int32Array
  values: Float64Array
  count: number
  buckets: HashedFeatures
}

export function fit(examples: readonly Example[], options: FitOptions): Network {
  const random = mulberry32(options.seed)
  const bench = openWorkbench(options.hidden, random)
  const order = examples.map((_, index) => index)
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    shuffle(order, random)
    const rate = options.rate * Math.sqrt(1 - epoch / options.epochs)
    for (const index of order) {
      const example = examples[index]!
      keepSome(bench, example.features, options, random)
      learn(bench, forward(bench), example, rate, options)
    }
  }
  return bench.network
}

/**
 * The network whose scores are the mean of the given ones': their hidden units side by side, and the mean of the linear
 * weights.
 */
export function joinNetworks(networks: readonly Network[]): Network {
  const share = 1 / networks.length
  const hidden = networks.reduce((sum, network) => sum + network.hidden, 0)
  const rows = Array.from({ length: INNER_ROWS }, (_, row) => networks.flatMap((network) => innerRow(network, row)))
  const outer = LANES.flatMap((_, lane) => {
    const units = networks.flatMap((network) => [...outerRow(network, lane).subarray(0, network.hidden)])
    return [
      ...units.map((weight) => weight * share),
      ...mean(networks.map((one) => outerRow(one, lane).subarray(one.hidden))),
    ]
  })
  return {
    hidden,
    inner: Float32Array.from(rows.flat()),
    outer: Float32Array.from(outer),
    ...eachList((list) => mean(networks.map((one) => one[list]))),
  }
}

function eachList<T>(make: (list: keyof HashedFeatures) => T): Record<keyof HashedFeatures, T> {
  return { words: make('words'), pieces: make('pieces'), senses: make('senses') }
}

function innerRow({ hidden, inner }: Network, row: number): number[] {
  return [...inner.subarray(row * hidden, (row + 1) * hidden)]
}

function outerRow({ hidden, outer }: Network, lane: number): Float32Array {
  const width = hidden + INNER_ROWS
  return outer.subarray(lane * width, (lane + 1) * width)
}

function mean(lists: readonly Float32Array[]): Float32Array {
  return lists[0]!.map((_, index) => lists.reduce((sum, list) => sum + list[index]!, 0) / lists.length)
}

function openWorkbench(hidden: number, random: () => number): Workbench {
  const inner = new Float32Array(hidden * INNER_ROWS)
  const outer = new Float32Array(COUNT * (hidden + INNER_ROWS))
  for (let index = 0; index < inner.length; index++) inner[index] = (random() - 0.5) * START_SPREAD
  for (let lane = 0; lane < COUNT; lane++) {
    for (let unit = 0; unit < hidden; unit++)
      outer[lane * (hidden + INNER_ROWS) + unit] = (random() - 0.5) * START_SPREAD
  }
  return {
    network: { hidden, inner, outer, ...eachList(() => new Float32Array(BUCKETS * COUNT)) },
    squares: {
      inner: new Float32Array(inner.length).fill(START_SQUARE),
      outer: new Float32Array(outer.length).fill(START_SQUARE),
      ...eachList(() => new Float32Array(BUCKETS * COUNT).fill(START_SQUARE)),
    },
    units: new Float64Array(hidden),
    unitErrors: new Float64Array(hidden),
    scores: new Float64Array(COUNT),
    kept: new Int32Array(DENSE),
    values: new Float64Array(DENSE),
    count: 0,
    buckets: eachList(() => []),
  }
}

/** Drops features of the example at random. */
function keepSome(bench: Workbench, features: Features, options: FitOptions, random: () => number): void {
  const { dense } = features
  bench.count = 0
  const end = random() < options.dropEmbeddings ? EMBEDDINGS_AT : DENSE
  for (let index = 0; index < end; index++) {
    const value = dense[index]!
    if (value === 0 || random() < options.dropDense) continue
    bench.kept[bench.count] = index
    bench.values[bench.count++] = value
  }
  bench.buckets = eachList((list) =>
    random() < options.dropAll[list] ? [] : features[list].filter(() => random() >= options.dropHashed),
  )
}

function forward({ network, units, scores, kept, values, count, buckets }: Workbench): Float64Array {
  const { hidden, inner, outer } = network
  for (let unit = 0; unit < hidden; unit++) units[unit] = inner[DENSE * hidden + unit]!
  for (let k = 0; k < count; k++) {
    const row = kept[k]! * hidden
    for (let unit = 0; unit < hidden; unit++) units[unit]! += inner[row + unit]! * values[k]!
  }
  for (let unit = 0; unit < hidden; unit++) units[unit] = Math.max(0, units[unit]!)
  for (let lane = 0; lane < COUNT; lane++) {
    const row = lane * (hidden + INNER_ROWS)
    let sum = outer[row + hidden + DENSE]!
    for (let unit = 0; unit < hidden; unit++) sum += outer[row + unit]! * units[unit]!
    for (let k = 0; k < count; k++) sum += outer[row + hidden + kept[k]!]! * values[k]!
    scores[lane] = sum
  }
  for (const list of HASHED_GROUPS) {
    const weights = network[list]
    const scale = bucketScale(buckets[list].length)
    for (const bucket of buckets[list])
      for (let lane = 0; lane < COUNT; lane++) scores[lane]! += weights[bucket * COUNT + lane]! * scale
  }
  return softmax(scores)
}

function learn(
  bench: Workbench,
  probabilities: Float64Array,
  example: Example,
  rate: number,
  options: FitOptions,
): void {
  const { network, squares, units, unitErrors, kept, values, count, buckets } = bench
  const { hidden, inner, outer } = network
  const target = freeTarget(example, probabilities, options.freedom)
  unitErrors.fill(0)
  for (let lane = 0; lane < COUNT; lane++) {
    const error = (probabilities[lane]! - target[lane]!) * example.weight
    const row = lane * (hidden + INNER_ROWS)
    for (let unit = 0; unit < hidden; unit++) {
      if (units[unit] === 0) continue
      unitErrors[unit]! += error * outer[row + unit]!
      step(outer, squares.outer, row + unit, error * units[unit]!, rate, options.decayInner)
    }
    for (let k = 0; k < count; k++)
      step(outer, squares.outer, row + hidden + kept[k]!, error * values[k]!, rate, options.decayDense)
    step(outer, squares.outer, row + hidden + DENSE, error, rate, 0)
    for (const list of HASHED_GROUPS) {
      const pull = error * bucketScale(buckets[list].length)
      for (const bucket of buckets[list])
        step(network[list], squares[list], bucket * COUNT + lane, pull, rate, options.decayHashed)
    }
  }
  for (let unit = 0; unit < hidden; unit++) {
    if (units[unit] === 0) continue
    for (let k = 0; k < count; k++)
      step(inner, squares.inner, kept[k]! * hidden + unit, unitErrors[unit]! * values[k]!, rate, options.decayInner)
    step(inner, squares.inner, DENSE * hidden + unit, unitErrors[unit]!, rate, 0)
  }
}

/** Where either of two lanes will do, the network divides a part of the target between them as it likes. */
function freeTarget({ target, accepted }: Example, probabilities: Float64Array, freedom: number): Float64Array {
  const sum = (list: Float64Array): number =>
    accepted.reduce((total, isAccepted, lane) => total + isAccepted * list[lane]!, 0)
  const scale = sum(target) / sum(probabilities)
  return target.map((fixed, lane) => {
    const free = accepted[lane] === 1 ? probabilities[lane]! * scale : fixed
    return (1 - freedom) * fixed + freedom * free
  })
}

function step(
  weights: Float32Array,
  squares: Float32Array,
  index: number,
  gradient: number,
  rate: number,
  decay: number,
): void {
  const full = gradient + decay * weights[index]!
  squares[index]! += full * full
  weights[index]! -= (rate * full) / Math.sqrt(squares[index]!)
}

function shuffle(order: number[], random: () => number): void {
  for (let at = order.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    const kept = order[at]!
    order[at] = order[other]!
    order[other] = kept
  }
}

export function mulberry32(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
