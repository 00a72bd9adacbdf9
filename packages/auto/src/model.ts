/**
 * The trained chooser: one hidden layer over the dense features plus a linear layer over dense features, words, pieces and
 * senses of words. `model.json` is what `npm run auto:train` writes: weights as bytes with a scale per row, in base64. It is
 * refused when it was trained on other features than these.
 */

import { CELL_LISTS, CELLS, DENSE_NAMES, type Features } from './features.ts'
import { LANES } from './lanes.ts'

/** A row per cell: one weight per lane. */
export type CellWeights = Record<(typeof CELL_LISTS)[number], Float32Array>

export interface Network extends CellWeights {
  hidden: number
  /** `hidden` rows: one weight per dense feature, then a bias. */
  inner: Float32Array
  /** A row per lane: one weight per hidden unit, one per dense feature, then a bias. */
  outer: Float32Array
}

export interface ModelFile {
  /** Which features the weights belong to. */
  features: string
  hidden: number
  inner: PackedRows
  outer: PackedRows
  words: PackedRows
  pieces: PackedRows
  senses: PackedRows
}

/** Every row's bytes in base64, and what each row's bytes are to be multiplied by. */
export interface PackedRows {
  scales: number[]
  bytes: string
}

/** One probability per lane, in the order of `LANES`. */
export function laneShares(network: Network, features: Features): Float64Array {
  const { dense } = features
  const { hidden, inner, outer } = network
  const innerWidth = DENSE_NAMES.length + 1
  const outerWidth = hidden + innerWidth
  const present: number[] = []
  const values: number[] = []
  for (let cell = 0; cell < dense.length; cell++) {
    const value = dense[cell] ?? 0
    if (value === 0) continue
    present.push(cell)
    values.push(value)
  }
  const units = new Float64Array(hidden)
  for (let unit = 0; unit < hidden; unit++) {
    const row = unit * innerWidth
    let sum = inner[row + innerWidth - 1] ?? 0
    for (let k = 0; k < present.length; k++) sum += (inner[row + (present[k] ?? 0)] ?? 0) * (values[k] ?? 0)
    units[unit] = Math.max(0, sum)
  }
  const scores = new Float64Array(LANES.length)
  for (let lane = 0; lane < scores.length; lane++) {
    const row = lane * outerWidth
    let sum = outer[row + outerWidth - 1] ?? 0
    for (let unit = 0; unit < hidden; unit++) sum += (outer[row + unit] ?? 0) * (units[unit] ?? 0)
    for (let k = 0; k < present.length; k++) sum += (outer[row + hidden + (present[k] ?? 0)] ?? 0) * (values[k] ?? 0)
    scores[lane] = sum
  }
  for (const list of CELL_LISTS) addCells(network[list], features[list], scores)
  return softmax(scores)
}

function addCells(table: Float32Array, cells: readonly number[], scores: Float64Array): void {
  const scale = cellScale(cells.length)
  for (const cell of cells)
    for (let lane = 0; lane < scores.length; lane++)
      scores[lane] = (scores[lane] ?? 0) + (table[cell * LANES.length + lane] ?? 0) * scale
}

/** Long texts have many cells; together they weigh like a few. */
export function cellScale(count: number): number {
  return count > 0 ? 1 / Math.sqrt(count) : 0
}

export function softmax(scores: Float64Array): Float64Array {
  const top = Math.max(...scores)
  const powers = scores.map((score) => Math.exp(score - top))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}

/** Which features a model belongs to: changes with any feature's name or place. */
export function featureMark(): string {
  let value = 0x811c9dc5
  for (const character of `${DENSE_NAMES.join()}/${CELL_LISTS.join()}/${CELLS}/${LANES.join()}`) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193)
  }
  return (value >>> 0).toString(16)
}

export function packModel({ hidden, inner, outer, words, pieces, senses }: Network): ModelFile {
  return {
    features: featureMark(),
    hidden,
    inner: packRows(inner, hidden),
    outer: packRows(outer, LANES.length),
    words: packRows(words, 1),
    pieces: packRows(pieces, 1),
    senses: packRows(senses, 1),
  }
}

export function unpackModel(file: ModelFile): Network {
  if (file.features !== featureMark()) {
    throw new Error('auto/model.json was trained on other features than the code reads: run npm run auto:train')
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
