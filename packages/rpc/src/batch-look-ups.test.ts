import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batchLookUps } from './batch-look-ups.ts'

test('each request gets its own outcome, in batches of a bounded size and number, at any time of arrival', async () => {
  const step = fc.record({ count: fc.integer({ min: 0, max: 30 }), pause: fc.constantFrom('none', 'turn', 'ms') })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 8 }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, batchSize, concurrency) => {
        let underWay = 0
        const request = batchLookUps<number, string>({
          batchSize,
          concurrency,
          async lookUp(requests) {
            expect(requests.length).toBeLessThanOrEqual(batchSize)
            expect(++underWay).toBeLessThanOrEqual(concurrency)
            await delay(requests[0]! % 2)
            underWay--
            if (requests.includes(7)) throw new Error('the whole batch')
            return Promise.allSettled(
              requests.map(async (n) => {
                if (n % 5 === 0) throw new Error(`not ${n}`)
                return `outcome ${n}`
              }),
            )
          },
        })
        const outcomes: Promise<void>[] = []
        let next = 8
        for (const { count, pause } of steps) {
          for (let sent = 0; sent < count; sent++) {
            const n = next++
            const right = n % 5 === 0 ? `not ${n}` : `outcome ${n}`
            outcomes.push(
              request(n).then(
                (outcome) => expect(outcome).toBe(right),
                (error: Error) => expect(error.message).toBe(right),
              ),
            )
          }
          if (pause === 'turn') await nextTurn()
          if (pause === 'ms') await delay(1)
        }
        await Promise.all(outcomes)
      },
    ),
    { numRuns: 60 },
  )
})

test('the requests of one turn of the event loop form one batch, and a batch that throws fails them all', async () => {
  const batches: number[][] = []
  const request = batchLookUps<number, number>({
    batchSize: 100,
    concurrency: 1,
    async lookUp(requests) {
      batches.push(requests)
      if (batches.length > 1) throw new Error('broken')
      return requests.map((value) => ({ status: 'fulfilled', value }))
    },
  })
  expect(await Promise.all([1, 2, 3].map(request))).toEqual([1, 2, 3])
  const [first, second] = await Promise.allSettled([4, 5].map(request))
  expect(batches).toEqual([
    [1, 2, 3],
    [4, 5],
  ])
  expect([first, second]).toMatchObject([{ reason: { message: 'broken' } }, { reason: { message: 'broken' } }])
})

test('each request of a flood gets its own outcome in a few batches, and the server refuses those beyond a bound', async () => {
  let batches = 0
  const request = batchLookUps<number, number>({
    batchSize: 1_000,
    concurrency: 2,
    maxWaiting: 10_000,
    async lookUp(requests) {
      batches++
      await nextTurn()
      return requests.map((request) => ({ status: 'fulfilled', value: -request }))
    },
  })
  const outcomes = await Promise.allSettled(Array.from({ length: 12_000 }, (_, index) => request(index + 1)))
  const given = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [[index, outcome.value]] : []))
  expect(given).toHaveLength(10_000)
  expect(given.every(([index, value]) => value === -(index! + 1))).toBe(true)
  expect(batches).toBe(10)
})
