import { expect, test } from 'vitest'
import { describeBackends, limitsOfOne } from './capacity.ts'

const costs = {
  perRequestMs: {
    'edge-1': 0.07,
    'router-1': 0.05,
    redis: 0.06,
    nats: 0.02,
    'metering-1': 0.01,
    postgres: 0.01,
    'keys-1': 0,
  },
  perChunkMs: { 'edge-1': 0.02, 'router-1': 0.02, nats: 0.01 },
}

test('the first bottleneck is the part of which there is one and that is full first', () => {
  expect(limitsOfOne(costs)[0]).toMatchObject({ name: 'NATS' })
  const { name, perSecond } = limitsOfOne({ ...costs, perChunkMs: {} })[0]!
  expect(name).toBe('Redis')
  expect(perSecond).toBeCloseTo(0.6 / 0.00006)
})

test('a slow ledger is named before everything that is faster', () => {
  const [first] = limitsOfOne({ ...costs, ledger: { rowsPerSecond: 100, held: 1e7 } })
  expect(first).toMatchObject({ name: 'the ledger', perSecond: 60 })
})

test('ten times the load needs ten times the processes', () => {
  const edges = describeBackends(costs)
    .split('\n')
    .find((line) => line.startsWith('| edge'))!
    .split('|')
    .map((cell) => cell.trim())
  // 1,000 requests a second of 0.07 ms and 200 chunks of 0.02 ms: 4.07 cores, 60 % full each.
  expect(edges.slice(3, 5)).toEqual(['7', '68'])
})
