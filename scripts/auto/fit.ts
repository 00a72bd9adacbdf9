/**
 * Fits the model: a small hidden layer over the dense features plus a linear layer over everything, by Adagrad, seeded,
 * on one core. Whole families of features are dropped at random, so that those which carry over between sources win.
 */

import { LANES } from '../../services/edge/src/core/auto/lanes.ts'
import { type Network, ngramScale, softmax } from '../../services/edge/src/core/auto/model.ts'
import { DENSE_NAMES, type Features, NGRAM_CELLS } from '../../services/edge/src/core/auto/features.ts'

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

export function fit(examples: readonly Example[], options: FitOptions): Network {
  const random = mulberry32(options.seed)
  const hidden = options.hidden
  const innerWidth = DENSE + 1
  const outerWidth = hidden + DENSE + 1
  const inner = new Float32Array(hidden * innerWidth)
  const outer = new Float32Array(COUNT * outerWidth)
  const ngrams = new Float32Array(NGRAM_CELLS * COUNT)
  for (let cell = 0; cell < inner.length; cell++) inner[cell] = (random() - 0.5) * 0.3
  for (let lane = 0; lane < COUNT; lane++)
    for (let unit = 0; unit < hidden; unit++) outer[lane * outerWidth + unit] = (random() - 0.5) * 0.3
  const innerSquares = new Float32Array(inner.length).fill(0.01)
  const outerSquares = new Float32Array(outer.length).fill(0.01)
  const ngramSquares = new Float32Array(ngrams.length).fill(0.01)

  const order = examples.map((_, index) => index)
  const units = new Float64Array(hidden)
  const unitErrors = new Float64Array(hidden)
  const logits = new Float64Array(COUNT)
  const active = new Int32Array(DENSE)
  const values = new Float64Array(DENSE)
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    shuffle(order, random)
    const rate = options.rate * (1 - epoch / options.epochs) ** 0.5
    for (const index of order) {
      const example = examples[index]!
      const { dense } = example.features
      let count = 0
      for (let cell = 0; cell < DENSE; cell++) {
        const value = dense[cell]!
        if (value !== 0 && random() >= options.dropDense) {
          active[count] = cell
          values[count++] = value
        }
      }
      const cells = random() < options.dropAllNgrams ? [] : example.features.ngrams.filter(() => random() >= options.dropNgrams)
      const scale = ngramScale(cells.length)

      for (let unit = 0; unit < hidden; unit++) {
        const row = unit * innerWidth
        let sum = inner[row + DENSE]!
        for (let k = 0; k < count; k++) sum += inner[row + active[k]!]! * values[k]!
        units[unit] = sum > 0 ? sum : 0
      }
      for (let lane = 0; lane < COUNT; lane++) {
        const row = lane * outerWidth
        let sum = outer[row + outerWidth - 1]!
        for (let unit = 0; unit < hidden; unit++) sum += outer[row + unit]! * units[unit]!
        for (let k = 0; k < count; k++) sum += outer[row + hidden + active[k]!]! * values[k]!
        for (const cell of cells) sum += ngrams[cell * COUNT + lane]! * scale
        logits[lane] = sum
      }
      const shares = softmax(logits)

      unitErrors.fill(0)
      for (let lane = 0; lane < COUNT; lane++) {
        const error = (shares[lane]! - example.target[lane]!) * example.weight
        const row = lane * outerWidth
        for (let unit = 0; unit < hidden; unit++) {
          if (units[unit] === 0) continue
          unitErrors[unit]! += error * outer[row + unit]!
          step(outer, outerSquares, row + unit, error * units[unit]!, rate, options.decayInner)
        }
        for (let k = 0; k < count; k++)
          step(outer, outerSquares, row + hidden + active[k]!, error * values[k]!, rate, options.decayDense)
        step(outer, outerSquares, row + outerWidth - 1, error, rate, 0)
        for (const cell of cells) step(ngrams, ngramSquares, cell * COUNT + lane, error * scale, rate, options.decayNgrams)
      }
      for (let unit = 0; unit < hidden; unit++) {
        if (units[unit] === 0) continue
        const error = unitErrors[unit]!
        const row = unit * innerWidth
        for (let k = 0; k < count; k++) step(inner, innerSquares, row + active[k]!, error * values[k]!, rate, options.decayInner)
        step(inner, innerSquares, row + DENSE, error, rate, 0)
      }
    }
  }
  return { hidden, inner, outer, ngrams }
}

function step(weights: Float32Array, squares: Float32Array, cell: number, gradient: number, rate: number, decay: number): void {
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
