/**
 * Fits the model: a small hidden layer over the dense features plus a linear layer over everything, by Adagrad, seeded,
 * on one core. Indices stay inside their arrays, hence the exclamation marks. Whole families of features are dropped at random, so that those which carry over between sources win.
 */

import { LANES } from '../src/lanes.ts'
import { type Network, ngramScale, softmax } from '../src/model.ts'
import { DENSE_NAMES, type Features, NGRAM_CELLS } from '../src/features.ts'

export interface Example {
  features: Features
  /** One share per lane, together 1. */
  target: Float64Array
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
  decayNgrams: number
  dropDense: number
  dropNgrams: number
  dropAllNgrams: number
}

export const FIT: FitOptions = {
  seed: 7,
  hidden: 24,
  epochs: 14,
  rate: 0.05,
  decayDense: 1e-3,
  decayInner: 1e-3,
  decayNgrams: 2e-3,
  dropDense: 0.15,
  dropNgrams: 0.3,
  dropAllNgrams: 0.4,
}

const DENSE = DENSE_NAMES.length
const COUNT = LANES.length
/** One weight per dense feature and a bias. */
const INNER_WIDTH = DENSE + 1
const START_SPREAD = 0.3
const START_SQUARE = 0.01

/** What a fit works on: the weights, their sums of squared gradients (Adagrad), and space for one example. */
interface Workbench {
  network: Network
  squares: { inner: Float32Array; outer: Float32Array; ngrams: Float32Array }
  units: Float64Array
  unitErrors: Float64Array
  scores: Float64Array
  /** The dense features kept of the example at hand. */
  kept: Int32Array
  values: Float64Array
  count: number
  cells: number[]
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

function openWorkbench(hidden: number, random: () => number): Workbench {
  const inner = new Float32Array(hidden * INNER_WIDTH)
  const outer = new Float32Array(COUNT * (hidden + INNER_WIDTH))
  const ngrams = new Float32Array(NGRAM_CELLS * COUNT)
  for (let cell = 0; cell < inner.length; cell++) inner[cell] = (random() - 0.5) * START_SPREAD
  for (let lane = 0; lane < COUNT; lane++) {
    for (let unit = 0; unit < hidden; unit++)
      outer[lane * (hidden + INNER_WIDTH) + unit] = (random() - 0.5) * START_SPREAD
  }
  return {
    network: { hidden, inner, outer, ngrams },
    squares: {
      inner: new Float32Array(inner.length).fill(START_SQUARE),
      outer: new Float32Array(outer.length).fill(START_SQUARE),
      ngrams: new Float32Array(ngrams.length).fill(START_SQUARE),
    },
    units: new Float64Array(hidden),
    unitErrors: new Float64Array(hidden),
    scores: new Float64Array(COUNT),
    kept: new Int32Array(DENSE),
    values: new Float64Array(DENSE),
    count: 0,
    cells: [],
  }
}

/** Drops features of the example at random. */
function keepSome(bench: Workbench, { dense, ngrams }: Features, options: FitOptions, random: () => number): void {
  bench.count = 0
  for (let cell = 0; cell < DENSE; cell++) {
    const value = dense[cell]!
    if (value === 0 || random() < options.dropDense) continue
    bench.kept[bench.count] = cell
    bench.values[bench.count++] = value
  }
  bench.cells = random() < options.dropAllNgrams ? [] : ngrams.filter(() => random() >= options.dropNgrams)
}

function forward({ network, units, scores, kept, values, count, cells }: Workbench): Float64Array {
  const { hidden, inner, outer, ngrams } = network
  const scale = ngramScale(cells.length)
  for (let unit = 0; unit < hidden; unit++) {
    const row = unit * INNER_WIDTH
    let sum = inner[row + DENSE]!
    for (let k = 0; k < count; k++) sum += inner[row + kept[k]!]! * values[k]!
    units[unit] = Math.max(0, sum)
  }
  for (let lane = 0; lane < COUNT; lane++) {
    const row = lane * (hidden + INNER_WIDTH)
    let sum = outer[row + hidden + DENSE]!
    for (let unit = 0; unit < hidden; unit++) sum += outer[row + unit]! * units[unit]!
    for (let k = 0; k < count; k++) sum += outer[row + hidden + kept[k]!]! * values[k]!
    for (const cell of cells) sum += ngrams[cell * COUNT + lane]! * scale
    scores[lane] = sum
  }
  return softmax(scores)
}

function learn(
  bench: Workbench,
  shares: Float64Array,
  { target, weight }: Example,
  rate: number,
  options: FitOptions,
): void {
  const { network, squares, units, unitErrors, kept, values, count, cells } = bench
  const { hidden, inner, outer, ngrams } = network
  const scale = ngramScale(cells.length)
  unitErrors.fill(0)
  for (let lane = 0; lane < COUNT; lane++) {
    const error = (shares[lane]! - target[lane]!) * weight
    const row = lane * (hidden + INNER_WIDTH)
    for (let unit = 0; unit < hidden; unit++) {
      if (units[unit] === 0) continue
      unitErrors[unit]! += error * outer[row + unit]!
      step(outer, squares.outer, row + unit, error * units[unit]!, rate, options.decayInner)
    }
    for (let k = 0; k < count; k++)
      step(outer, squares.outer, row + hidden + kept[k]!, error * values[k]!, rate, options.decayDense)
    step(outer, squares.outer, row + hidden + DENSE, error, rate, 0)
    for (const cell of cells)
      step(ngrams, squares.ngrams, cell * COUNT + lane, error * scale, rate, options.decayNgrams)
  }
  for (let unit = 0; unit < hidden; unit++) {
    if (units[unit] === 0) continue
    const row = unit * INNER_WIDTH
    for (let k = 0; k < count; k++)
      step(inner, squares.inner, row + kept[k]!, unitErrors[unit]! * values[k]!, rate, options.decayInner)
    step(inner, squares.inner, row + DENSE, unitErrors[unit]!, rate, 0)
  }
}

function step(
  weights: Float32Array,
  squares: Float32Array,
  cell: number,
  gradient: number,
  rate: number,
  decay: number,
): void {
  const full = gradient + decay * weights[cell]!
  squares[cell]! += full * full
  weights[cell]! -= (rate * full) / Math.sqrt(squares[cell]!)
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
