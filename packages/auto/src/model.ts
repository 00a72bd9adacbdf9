/**
 * The trained classifier: one hidden layer over the dense features, plus a linear layer over dense and hashed features.
 * `training/auto/train.ts` writes `model.json.br`: weights as bytes with a scale per row, in base64. A model that was
 * trained on other features is refused.
 */

import { createHash } from 'node:crypto'
import { HASHED_GROUPS, BUCKETS, DENSE_NAMES, type Features, withContext, readFeatures } from './features.ts'
import { LANES } from './lanes.ts'
import { readPacked } from './read-packed.ts'

/** A row per bucket: one weight per lane. */
export type HashedWeights = Record<(typeof HASHED_GROUPS)[number], Float32Array>

export interface Network extends HashedWeights {
  hidden: number
  /** A row per dense feature, then one for the bias: one weight per hidden unit. */
  inner: Float32Array
  /** A row per lane: one weight per hidden unit, one per dense feature, then a bias. */
  outer: Float32Array
}

export const MODEL_NAME = 'model.json.br'

export interface ModelFile {
  /** The fingerprint of the features that the weights belong to. */
  features: string
  hidden: number
  inner: PackedRows
  outer: PackedRows
  words: PackedRows
  pieces: PackedRows
  senses: PackedRows
}

/** The bytes of all rows in base64, and each row's scale. A weight is its byte times the scale of its row. */
export interface PackedRows {
  scales: number[]
  bytes: string
}

/** One probability per lane, in the order of `LANES`. Indices stay inside their arrays, hence the exclamation marks. */
export function laneProbabilities(network: Network, features: Features): Float64Array {
  const { hidden, outer } = network
  const present = presentIn(features.dense)
  const units = hiddenUnits(network, present)
  const width = hidden + features.dense.length + 1
  const scores = new Float64Array(LANES.length)
  for (let lane = 0; lane < scores.length; lane++) {
    const row = lane * width
    let sum = outer[row + width - 1]!
    for (let unit = 0; unit < hidden; unit++) sum += outer[row + unit]! * units[unit]!
    for (let k = 0; k < present.count; k++) sum += outer[row + hidden + present.indices[k]!]! * present.values[k]!
    scores[lane] = sum
  }
  for (const list of HASHED_GROUPS) addHashed(network[list], features[list], scores)
  return softmax(scores)
}

/** The dense features that are not zero, and a few zeros after them. */
interface Present {
  count: number
  indices: Int32Array
  values: Float64Array
}

function presentIn(dense: Float32Array): Present {
  const indices = new Int32Array(dense.length + ROWS_AT_ONCE)
  const values = new Float64Array(dense.length + ROWS_AT_ONCE)
  let count = 0
  for (let index = 0; index < dense.length; index++) {
    const value = dense[index]!
    if (value === 0) continue
    indices[count] = index
    values[count++] = value
  }
  return { count, indices, values }
}

const ROWS_AT_ONCE = 4

/**
 * Adds the rows of four features in one pass. That reads and writes the units a quarter as often, and takes little more
 * than half of the time.
 */
function hiddenUnits({ hidden, inner }: Network, { count, indices, values }: Present): Float64Array {
  const units = Float64Array.from(inner.subarray(inner.length - hidden))
  for (let k = 0; k < count; k += ROWS_AT_ONCE) {
    const a = values[k]!
    const b = values[k + 1]!
    const c = values[k + 2]!
    const d = values[k + 3]!
    const atA = indices[k]! * hidden
    const atB = indices[k + 1]! * hidden
    const atC = indices[k + 2]! * hidden
    const atD = indices[k + 3]! * hidden
    for (let unit = 0; unit < hidden; unit++)
      units[unit]! += inner[atA + unit]! * a + inner[atB + unit]! * b + inner[atC + unit]! * c + inner[atD + unit]! * d
  }
  return units.map((sum) => Math.max(0, sum))
}

function addHashed(table: Float32Array, buckets: readonly number[], scores: Float64Array): void {
  const scale = bucketScale(buckets.length)
  for (const bucket of buckets) {
    const row = bucket * LANES.length
    for (let lane = 0; lane < LANES.length; lane++) scores[lane]! += table[row + lane]! * scale
  }
}

/** Long texts have many buckets. The scale keeps their sum as small as that of a few. */
export function bucketScale(count: number): number {
  return count > 0 ? 1 / Math.sqrt(count) : 0
}

export function softmax(scores: Float64Array): Float64Array {
  const top = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - top))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

/** The fingerprint covers the features of these texts, in three languages. The last one comes after a response. */
const PROBES = ['Please write a poem about the sea.', 'Wie wird das Wetter morgen in Bonn?', '帮我写一个排序函数']
const PROBE_TURNS = { last: PROBES[2] ?? '', before: PROBES[0] ?? '', reply: 'In which language?', lastLength: 9 }

/** The fingerprint of the features. It changes with any feature's name or index, and with the features of the probes. */
export function featureFingerprint(read = readFeatures): string {
  const features = PROBES.map((probe) => read(probe, probe.length))
  const last = features.at(-1)
  if (last) features.push(withContext(last, PROBE_TURNS, new Float64Array(LANES.length)))
  const values = features.flatMap(({ dense, ...hashed }) => [
    ...Array.from(dense, (value) => Math.round(value * 100)),
    ...HASHED_GROUPS.flatMap((list) => hashed[list]),
  ])
  const text = [DENSE_NAMES, HASHED_GROUPS, BUCKETS, LANES, values].join('/')
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Reads the model that ships with the package. */
export function readModel(): Network {
  return unpackModel(readPacked(MODEL_NAME) as ModelFile)
}

export function packModel({ hidden, inner, outer, words, pieces, senses }: Network): ModelFile {
  return {
    features: featureFingerprint(),
    hidden,
    inner: packRows(inner, DENSE_NAMES.length + 1),
    outer: packRows(outer, LANES.length),
    words: packRows(words, 1),
    pieces: packRows(pieces, 1),
    senses: packRows(senses, 1),
  }
}

export function unpackModel(file: ModelFile): Network {
  if (file.features !== featureFingerprint()) {
    throw new Error(
      'auto/model.json.br was trained on other features than the code reads: train it again (training/auto/README.md)',
    )
  }
  return {
    hidden: file.hidden,
    inner: unpackRows(file.inner),
    outer: unpackRows(file.outer),
    words: unpackRows(file.words),
    pieces: unpackRows(file.pieces),
    senses: unpackRows(file.senses),
  }
}

function packRows(weights: Float32Array, rows: number): PackedRows {
  const width = weights.length / rows
  const scales = Array.from({ length: rows }, (_, row) => {
    const largest = weights
      .subarray(row * width, (row + 1) * width)
      .reduce((top, weight) => Math.max(top, Math.abs(weight)), 0)
    return Number((largest / 127 || 1).toPrecision(6))
  })
  const bytes = Int8Array.from(weights, (weight, index) =>
    Math.round(weight / (scales[Math.floor(index / width)] ?? 1)),
  )
  return { scales, bytes: Buffer.from(bytes.buffer).toString('base64') }
}

function unpackRows({ scales, bytes }: PackedRows): Float32Array {
  const packed = Buffer.from(bytes, 'base64')
  const width = packed.length / scales.length
  const weights = new Float32Array(packed.length)
  for (let index = 0; index < weights.length; index++)
    weights[index] = packed.readInt8(index) * (scales[Math.floor(index / width)] ?? 1)
  return weights
}
