import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LARGEST_BODY_BYTES } from '../http/memory-budget.ts'
import { KeptResponses, MOST_NAMED_STREAMS } from './kept-responses.ts'

function memory(limit = Infinity) {
  const state = { held: 0 }
  return {
    state,
    reserve: (bytes: number) => (state.held += bytes) <= limit,
    release: (bytes: number) => void (state.held -= bytes),
  }
}

const MEGABYTE = 1024 * 1024
const itemsOf = (bytes: number) => [Buffer.alloc(bytes)]

test('the last response of each stream can be continued, and the memory is that of the kept ones alone', () => {
  const streams = fc.constantFrom(undefined, 'a', 'b', 'c')
  const step = fc.oneof(
    fc.record({ do: fc.constant('keep' as const), stream: streams, megabytes: fc.nat(12) }),
    fc.record({ do: fc.constant('forget' as const), number: fc.nat(20) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.constantFrom(20 * MEGABYTE, Infinity), (steps, limit) => {
      const ofAccount = memory(limit)
      const kept = new KeptResponses(ofAccount)
      const lastOf = new Map<string | undefined, string>()
      let made = 0
      for (const each of steps) {
        if (each.do === 'keep') {
          const id = `resp_${made++}`
          lastOf.set(each.stream, id)
          kept.keep(each.stream, { id, items: itemsOf(each.megabytes * MEGABYTE) })
        } else kept.forget(`resp_${each.number}`)
        const ids = Array.from({ length: made }, (_, number) => `resp_${number}`).filter((id) => kept.find(id))
        expect([...lastOf.values()]).toEqual(expect.arrayContaining(ids))
        const bytes = ids.flatMap((id) => kept.find(id)!).reduce((sum, { length }) => sum + length, 0)
        expect(ofAccount.state.held).toBe(bytes)
        expect(bytes).toBeLessThanOrEqual(Math.min(limit, LARGEST_BODY_BYTES))
      }
      kept.clear()
      expect(ofAccount.state.held).toBe(0)
    }),
  )
})

test('the oldest conversations give way to the newest one, and one that no request could send is not kept', () => {
  const kept = new KeptResponses(memory())
  kept.keep('a', { id: 'one', items: itemsOf(20 * MEGABYTE) })
  kept.keep('b', { id: 'two', items: itemsOf(4 * MEGABYTE) })
  kept.keep('c', { id: 'three', items: itemsOf(10 * MEGABYTE) })
  expect(['one', 'two', 'three'].map((id) => kept.find(id) !== null)).toEqual([false, true, true])
  kept.keep('c', { id: 'four', items: itemsOf(26 * MEGABYTE) })
  expect(kept.find('four')).toBeNull()
})

test('a connection has a bounded number of stream names', () => {
  const kept = new KeptResponses(memory())
  for (let count = 0; count < MOST_NAMED_STREAMS; count++) expect(kept.admits(`s${count}`)).toBe(true)
  expect([kept.admits('more'), kept.admits('s0'), kept.admits(undefined)]).toEqual([false, true, true])
})
