import { statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BUCKETS, DENSE_NAMES, readFeatures } from './features.ts'
import { LANES } from './lanes.ts'
import {
  featureFingerprint,
  laneProbabilities,
  MODEL_NAME,
  type ModelFile,
  type Network,
  packModel,
  softmax,
  unpackModel,
} from './model.ts'
import { readPacked } from './read-packed.ts'

const modelFile = readPacked(MODEL_NAME) as ModelFile

function network(hidden: number): Network {
  const wave = (length: number): Float32Array => Float32Array.from({ length }, (_, index) => Math.sin(index) / 10)
  return {
    hidden,
    inner: wave(hidden * (DENSE_NAMES.length + 1)),
    outer: wave(LANES.length * (hidden + DENSE_NAMES.length + 1)),
    words: wave(BUCKETS * LANES.length),
    pieces: wave(BUCKETS * LANES.length),
    senses: wave(BUCKETS * LANES.length),
  }
}

test('the model in the repository belongs to the features in the repository', () => {
  expect(modelFile.features).toBe(featureFingerprint())
})

test('the fingerprint changes with the features of a text', () => {
  const other: typeof readFeatures = (text, length) => ({ ...readFeatures(text, length), senses: [] })
  expect(featureFingerprint(other)).not.toBe(featureFingerprint())
})

test('a model that was trained on other features is refused, and the error names the next step', () => {
  expect(() => unpackModel({ ...modelFile, features: 'other' })).toThrow('training/auto/README.md')
})

test('the files that Auto ships stay below four megabytes together', () => {
  const names = [MODEL_NAME, 'meaning.json.br', 'words.json.br', 'background.json']
  const sizes = names.map((name) => statSync(new URL(name, import.meta.url)).size)
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(4_000_000)
})

test.each([0, 1, 2, 3, 4, 5])('the hidden units count each of %i dense features once', (count) => {
  const hidden = 3
  const { inner, outer, words, pieces, senses } = network(hidden)
  const dense = Float32Array.from(DENSE_NAMES, (_, index) => (index % 7 === 0 && index < 7 * count ? 0.5 : 0))
  const width = hidden + dense.length + 1
  const scores = LANES.map((_, lane) => {
    const units = [0, 1, 2].map((unit) =>
      Math.max(
        0,
        dense.reduce(
          (sum, value, index) => sum + value * inner[index * hidden + unit]!,
          inner[dense.length * hidden + unit]!,
        ),
      ),
    )
    const row = outer.subarray(lane * width, (lane + 1) * width)
    const linear = dense.reduce((sum, value, index) => sum + value * row[hidden + index]!, row[width - 1]!)
    return units.reduce((sum, unit, index) => sum + unit * row[index]!, linear)
  })
  const probabilities = laneProbabilities(
    { hidden, inner, outer, words, pieces, senses },
    { dense, words: [], pieces: [], senses: [] },
  )
  softmax(Float64Array.from(scores)).forEach((probability, lane) =>
    expect(probabilities[lane]).toBeCloseTo(probability, 6),
  )
})

test('packing to bytes keeps the probabilities to a hundredth', () => {
  const before = network(3)
  const after = unpackModel(packModel(before))
  const features = readFeatures('Explain how a lock works', 24)
  const expected = laneProbabilities(before, features)
  laneProbabilities(after, features).forEach((probability, lane) =>
    expect(probability).toBeCloseTo(expected[lane] ?? 0, 2),
  )
})
