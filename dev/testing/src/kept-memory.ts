/**
 * The memory that small collections leave of objects that come and go, as requests do: a hundred between two of them, some
 * always under way. It lies in the old generation until a full collection comes.
 */

import v8 from 'node:v8'
import vm from 'node:vm'

const REQUESTS = 4_000
const REQUEST_BYTES = 8_000
const UNDER_WAY = 32

/** The bytes that have come and gone: a test judges the share of them that is kept. */
export const PASSED_BYTES = REQUESTS * REQUEST_BYTES

/** `begin` is given the words that make each request large, and returns the function that ends it. */
export function keptBytes(begin: (words: number[]) => () => void): number {
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void
  const ends: (() => void)[] = []
  let usedBefore = 0
  for (let number = 0; number < REQUESTS; number++) {
    ends.push(begin(Array<number>(REQUEST_BYTES / 8).fill(0.5)))
    if (ends.length > UNDER_WAY) ends.shift()!()
    if (number === 2 * UNDER_WAY) {
      // Those under way become old, as they do now and then in any process.
      collect({ type: 'major' })
      usedBefore = process.memoryUsage().heapUsed
    }
    if (number % 100 === 99) collect({ type: 'minor' })
  }
  return process.memoryUsage().heapUsed - usedBefore
}
