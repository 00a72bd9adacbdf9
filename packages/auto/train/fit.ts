/**
 * Fits the model: a small hidden layer over the dense features plus a linear layer over everything, by Adagrad, seeded,
 * on one core. Indices stay inside their arrays, hence the exclamation marks. Whole families of features are dropped at random, so that those which carry over between sources win.
 */

import { LANES } from '../src/lanes.ts'
import { cellScale, type Network, softmax } from '../src/model.ts'
import { DENSE_NAMES, type Features, MEANING_AT, PIECE_CELLS, WORD_CELLS } from '../src/features.ts'

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
  decayCells: number
  dropDense: number
  dropCells: number
  dropAllWords: number
  dropAllPieces: number
  dropMeaning: number
}

export const FIT: FitOptions = {
  seed: 7,
  hidden: 24,
  epochs: 16,
  rate: 0.05,
  decayDense: 1e-3,
  decayInner: 1e-3,
  decayCells: 2e-3,
  dropDense: 0.1,
  dropCells: 0.3,
  dropAllWords: 0.5,
  dropAllPieces: 0.2,
  dropMeaning: 0.3,
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
  squares: Omit<Network, 'hidden'>
  units: Float64Array
  unitErrors: Float64Array
  scores: Float64Array
  /** The dense features kept of the example at hand. */
  kept: Int32Array
  values: Float64Array
  count: number
  words: number[]
  pieces: number[]
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
 * The network whose scores are the mean of the given ones': their hidden units side by side, and the mean of what is
 * linear.
 */
export function joinNetworks(networks: readonly Network[]): Network {
  const share = 1 / networks.length
  const hidden = networks.reduce((sum, network) => sum + network.hidden, 0)
  const inner = Float32Array.from(networks.flatMap((network) => [...network.inner]))
  const outer = LANES.flatMap((_, lane) => {
    const units = networks.flatMap((network) => [...outerRow(network, lane).subarray(0, network.hidden)])
    return [
      ...units.map((weight) => weight * share),
      ...mean(networks.map((one) => outerRow(one, lane).subarray(one.hidden))),
    ]
  })
  const words = mean(networks.map((network) => network.words))
  return { hidden, inner, outer: Float32Array.from(outer), words, pieces: mean(networks.map(({ pieces }) => pieces)) }
}

function outerRow({ hidden, outer }: Network, lane: number): Float32Array {
  const width = hidden + INNER_WIDTH
  return outer.subarray(lane * width, (lane + 1) * width)
}

function mean(lists: readonly Float32Array[]): Float32Array {
  return lists[0]!.map((_, cell) => lists.reduce((sum, list) => sum + list[cell]!, 0) / lists.length)
}

function openWorkbench(hidden: number, random: () => number): Workbench {
  const inner = new Float32Array(hidden * INNER_WIDTH)
  const outer = new Float32Array(COUNT * (hidden + INNER_WIDTH))
  const words = new Float32Array(WORD_CELLS * COUNT)
  const pieces = new Float32Array(PIECE_CELLS * COUNT)
  for (let cell = 0; cell < inner.length; cell++) inner[cell] = (random() - 0.5) * START_SPREAD
  for (let lane = 0; lane < COUNT; lane++) {
    for (let unit = 0; unit < hidden; unit++)
      outer[lane * (hidden + INNER_WIDTH) + unit] = (random() - 0.5) * START_SPREAD
  }
  return {
    network: { hidden, inner, outer, words, pieces },
    squares: {
      inner: new Float32Array(inner.length).fill(START_SQUARE),
      outer: new Float32Array(outer.length).fill(START_SQUARE),
      words: new Float32Array(words.length).fill(START_SQUARE),
      pieces: new Float32Array(pieces.length).fill(START_SQUARE),
    },
    units: new Float64Array(hidden),
    unitErrors: new Float64Array(hidden),
    scores: new Float64Array(COUNT),
    kept: new Int32Array(DENSE),
    values: new Float64Array(DENSE),
    count: 0,
    words: [],
    pieces: [],
  }
}

/** Drops features of the example at random. */
function keepSome(
  bench: Workbench,
  { dense, words, pieces }: Features,
  options: FitOptions,
  random: () => number,
): void {
  bench.count = 0
  const end = random() < options.dropMeaning ? MEANING_AT : DENSE
  for (let cell = 0; cell < end; cell++) {
    const value = dense[cell]!
    if (value === 0 || random() < options.dropDense) continue
    bench.kept[bench.count] = cell
    bench.values[bench.count++] = value
  }
  const some = (cells: number[]): number[] => cells.filter(() => random() >= options.dropCells)
  bench.words = random() < options.dropAllWords ? [] : some(words)
  bench.pieces = random() < options.dropAllPieces ? [] : some(pieces)
}

function forward({ network, units, scores, kept, values, count, words, pieces }: Workbench): Float64Array {
  const { hidden, inner, outer } = network
  const wordScale = cellScale(words.length)
  const pieceScale = cellScale(pieces.length)
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
    for (const cell of words) sum += network.words[cell * COUNT + lane]! * wordScale
    for (const cell of pieces) sum += network.pieces[cell * COUNT + lane]! * pieceScale
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
  const { network, squares, units, unitErrors, kept, values, count, words, pieces } = bench
  const { hidden, inner, outer } = network
  const wordScale = cellScale(words.length)
  const pieceScale = cellScale(pieces.length)
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
    for (const cell of words)
      step(network.words, squares.words, cell * COUNT + lane, error * wordScale, rate, options.decayCells)
    for (const cell of pieces)
      step(network.pieces, squares.pieces, cell * COUNT + lane, error * pieceScale, rate, options.decayCells)
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
