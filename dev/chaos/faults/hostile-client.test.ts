import { expect, test } from 'vitest'
import { slownessOf } from './hostile-client.ts'

test.each([
  ['within the time that is usual', 400, 1, 0],
  ['late, while the other edge is quick', 401, 100, 1],
  ['late, as all is on a machine that has no time', 5_589, 2_100, 0],
  ['late by far, on a machine that has little time', 5_589, 1_800, 1],
  ['never anything', Infinity, 900, 1],
])('others at the attacked edge get their responses %s', (_case, usualMs, atOtherEdgeMs, harms) => {
  expect(slownessOf(usualMs, atOtherEdgeMs)).toHaveLength(harms)
})
