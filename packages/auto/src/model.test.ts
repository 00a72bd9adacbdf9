import { expect, test } from 'vitest'
import { CELLS, DENSE_NAMES, readFeatures } from './features.ts'
import { LANES } from './lanes.ts'
import { featureMark, laneShares, MODEL_NAME, type ModelFile, type Network, packModel, unpackModel } from './model.ts'
import { readPacked } from './read-packed.ts'

const modelFile = readPacked(MODEL_NAME) as ModelFile

function network(hidden: number): Network {
  const wave = (length: number): Float32Array => Float32Array.from({ length }, (_, cell) => Math.sin(cell) / 10)
  return {
    hidden,
    inner: wave(hidden * (DENSE_NAMES.length + 1)),
    outer: wave(LANES.length * (hidden + DENSE_NAMES.length + 1)),
    words: wave(CELLS * LANES.length),
    pieces: wave(CELLS * LANES.length),
    senses: wave(CELLS * LANES.length),
  }
}

test('the model in the repository belongs to the features in the repository', () => {
  expect(modelFile.features).toBe(featureMark())
})

test('a model of other features is refused with what to do', () => {
  expect(() => unpackModel({ ...modelFile, features: 'other' })).toThrow('npm run auto:train')
})

test('the model file stays below two megabytes', () => {
  expect(JSON.stringify(modelFile).length).toBeLessThan(2_000_000)
})

test('packing to bytes keeps the shares to a hundredth', () => {
  const before = network(3)
  const after = unpackModel(packModel(before))
  const features = readFeatures('Explain how a lock works', 24)
  const expected = laneShares(before, features)
  laneShares(after, features).forEach((share, lane) => expect(share).toBeCloseTo(expected[lane] ?? 0, 2))
})
