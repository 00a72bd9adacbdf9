import { expect, test } from 'vitest'
import { DENSE_NAMES, type Features } from '../../packages/auto/src/features.ts'
import { type Lane, LANES } from '../../packages/auto/src/lanes.ts'
import { laneProbabilities } from '../../packages/auto/src/model.ts'
import { type Example, fit, FIT } from './fit.ts'

const dense = new Float32Array(DENSE_NAMES.length)
dense[0] = 1
const features: Features = { dense, words: [1], pieces: [], senses: [] }

/** Of a text that is the same in every example. */
function example(probabilities: Partial<Record<Lane, number>>): Example {
  return {
    features,
    target: Float64Array.from(LANES, (lane) => probabilities[lane] ?? 0),
    accepted: Float64Array.from(LANES, (lane) => (probabilities[lane] === undefined ? 0 : 1)),
    weight: 1,
  }
}

function learnt(examples: Example[], freedom: number): Record<Lane, number> {
  const dropAll = { words: 0, pieces: 0, senses: 0 }
  const network = fit(examples, { ...FIT, hidden: 4, epochs: 200, dropDense: 0, dropHashed: 0, dropAll, freedom })
  const probabilities = laneProbabilities(network, features)
  return Object.fromEntries(LANES.map((lane, index) => [lane, probabilities[index]])) as Record<Lane, number>
}

test('where two lanes will do, the free part of a target follows the other examples', () => {
  const examples = [example({ nova: 1 }), example({ nova: 0.4, bolt: 0.6 })]
  const fixed = learnt(examples, 0)
  const free = learnt(examples, 0.5)
  expect(fixed.nova).toBeCloseTo(0.7, 1)
  expect(free.nova).toBeGreaterThan(fixed.nova + 0.05)
})

test('freedom takes nothing from a lane that alone will do', () => {
  const probabilities = learnt([example({ code: 1 })], 1)
  expect(probabilities.code).toBeGreaterThan(0.95)
})
