import { expect, test } from 'vitest'
import { goodputShare, type Level } from './overload-result.ts'

const level: Level = {
  times: 1,
  capacity: 3_000,
  offered: 3_000,
  goodput: 2_700,
  p50: 1,
  p99: 1,
  refused: 0,
  refusalP99: 0,
  gaveUp: 0,
  errors: 0,
}

test.each<[string, Partial<Level>, number]>([
  ['the capacity, where as much or more was offered', { offered: 15_000 }, 0.9],
  ['the rate offered, where the machine became faster behind it', { offered: 2_700 }, 1],
  ['the capacity of the launch, in a record of no other', { offered: 6_000, capacity: undefined }, 1.35],
])('goodput is a share of %s', (_name, change, share) => {
  expect(goodputShare({ ...level, ...change }, 2_000)).toBeCloseTo(share)
})
