/**
 * The trained chooser: a few small networks whose scores are averaged. Each is one hidden layer over the dense features
 * plus a linear layer over dense features and n-grams. `model.json` is what `npm run auto:train` writes: weights as
 * bytes with a scale per row, in base64. It is refused when it was trained on other features than these.
 */

import { DENSE_NAMES, type Features, NGRAM_CELLS } from './features.ts'
import { LANES } from './lanes.ts'

export interface Network {
  hidden: number
  /** `hidden` rows: one weight per dense feature, then a bias. */
  inner: Float32Array
  /** A row per lane: one weight per hidden unit, one per dense feature, then a bias. */
  outer: Float32Array
  /** A row per n-gram cell: one weight per lane. */
  ngrams: Float32Array
}

export interface ModelFile {
  /** Which features the weights belong to. */
  features: string
  networks: { hidden: number; inner: PackedRows; outer: PackedRows; ngrams: PackedRows }[]
}

/** Every row's bytes in base64, and what each row's bytes are to be multiplied by. */
export interface PackedRows {
  scales: number[]
  bytes: string
}

/** One probability per lane, in the order of `LANES`. */
export function laneShares(networks: readonly Network[], features: Features): Float64Array {
  const present: number[] = []
  features.dense.forEach((value, cell) => value !== 0 && present.push(cell))
  const sums = new Float64Array(LANES.length)
  for (const network of networks) addScores(network, features, present, sums)
  for (let lane = 0; lane < sums.length; lane++) sums[lane] = (sums[lane] ?? 0) / networks.length
  return softmax(sums)
}

function addScores(
  network: Network,
  { dense, ngrams }: Features,
  present: readonly number[],
  sums: Float64Array,
): void {
  const { hidden, inner, outer } = network
  const innerWidth = DENSE_NAMES.length + 1
  const outerWidth = hidden + DENSE_NAMES.length + 1
  const units = new Float64Array(hidden)
  for (let unit = 0; unit < hidden; unit++) {
    const row = unit * innerWidth
    let sum = inner[row + innerWidth - 1] ?? 0
    for (const cell of present) sum += (inner[row + cell] ?? 0) * (dense[cell] ?? 0)
    units[unit] = Math.max(0, sum)
  }
  const scale = ngramScale(ngrams.length)
  for (let lane = 0; lane < sums.length; lane++) {
    const row = lane * outerWidth
    let sum = outer[row + outerWidth - 1] ?? 0
    for (let unit = 0; unit < hidden; unit++) sum += (outer[row + unit] ?? 0) * (units[unit] ?? 0)
    for (const cell of present) sum += (outer[row + hidden + cell] ?? 0) * (dense[cell] ?? 0)
    for (const cell of ngrams) sum += (network.ngrams[cell * sums.length + lane] ?? 0) * scale
    sums[lane] = (sums[lane] ?? 0) + sum
  }
}

/** Long texts have many n-grams; together they weigh like a few. */
export function ngramScale(count: number): number {
  return count > 0 ? 1 / Math.sqrt(count) : 0
}

export function softmax(scores: Float64Array): Float64Array {
  const top = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - top))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

/** Changes with any feature's name or place. */
export function featureMark(): string {
  let value = 0x811c9dc5
  for (const character of `${DENSE_NAMES.join()}/${NGRAM_CELLS}/${LANES.join()}`) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  return (value >>> 0).toString(16)
}

export function packModel(networks: readonly Network[]): ModelFile {
  return {
    features: featureMark(),
    networks: networks.map(({ hidden, inner, outer, ngrams }) => ({
      hidden,
      inner: packRows(inner, hidden),
      outer: packRows(outer, LANES.length),
      ngrams: packRows(ngrams, 1),
    })),
  }
}

export function unpackModel(file: ModelFile): Network[] {
  if (file.features !== featureMark()) {
    throw new Error('auto/model.json was trained on other features than the code reads: run npm run auto:train')
  }
  return file.networks.map(({ hidden, inner, outer, ngrams }) => ({
    hidden,
    inner: unpackRows(inner),
    outer: unpackRows(outer),
    ngrams: unpackRows(ngrams),
  }))
}

function packRows(weights: Float32Array, rows: number): PackedRows {
  const width = weights.length / rows
  const scales = Array.from({ length: rows }, (_, row) => {
    const largest = weights
      .subarray(row * width, (row + 1) * width)
      .reduce((top, weight) => Math.max(top, Math.abs(weight)), 0)
    return Number((largest / 127 || 1).toPrecision(6))
  })
  const bytes = Int8Array.from(weights, (weight, cell) => Math.round(weight / (scales[Math.floor(cell / width)] ?? 1)))
  return { scales, bytes: Buffer.from(bytes.buffer).toString('base64') }
}

function unpackRows({ scales, bytes }: PackedRows): Float32Array {
  const packed = Buffer.from(bytes, 'base64')
  const width = packed.length / scales.length
  const weights = new Float32Array(packed.length)
  for (let cell = 0; cell < weights.length; cell++)
    weights[cell] = packed.readInt8(cell) * (scales[Math.floor(cell / width)] ?? 1)
  return weights
}
