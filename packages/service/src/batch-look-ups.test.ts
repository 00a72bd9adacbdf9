import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batchLookUps } from './batch-look-ups.ts'

test('each question gets its own outcome, in batches and places as bounded, whenever it comes', async () => {
  const step = fc.record({ count: fc.integer({ min: 0, max: 30 }), pause: fc.constantFrom('none', 'turn', 'ms') })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 8 }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, atMost, atOnce) => {
        let underWay = 0
        const ask = batchLookUps<number, string>({
          atMost,
          atOnce,
          async answer(questions) {
            expect(questions.length).toBeLessThanOrEqual(atMost)
            expect(++underWay).toBeLessThanOrEqual(atOnce)
            await delay(questions[0]! % 2)
            underWay--
            if (questions.includes(7)) throw new Error('the whole batch')
            return Promise.allSettled(
              questions.map(async (n) => {
                if (n % 5 === 0) throw new Error(`not ${n}`)
                return `answer ${n}`
              }),
            )
          },
        })
        const outcomes: Promise<void>[] = []
        let next = 8
        for (const { count, pause } of steps) {
          for (let asked = 0; asked < count; asked++) {
            const n = next++
            const right = n % 5 === 0 ? `not ${n}` : `answer ${n}`
            outcomes.push(
              ask(n).then(
                (answer) => expect(answer).toBe(right),
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

test('questions of one turn are one batch, and a batch that throws fails them all', async () => {
  const batches: number[][] = []
  const ask = batchLookUps<number, number>({
    atMost: 100,
    atOnce: 1,
    async answer(questions) {
      batches.push(questions)
      if (batches.length > 1) throw new Error('broken')
      return questions.map((value) => ({ status: 'fulfilled', value }))
    },
  })
  expect(await Promise.all([1, 2, 3].map(ask))).toEqual([1, 2, 3])
  const [first, second] = await Promise.allSettled([4, 5].map(ask))
  expect(batches).toEqual([
    [1, 2, 3],
    [4, 5],
  ])
  expect([first, second]).toMatchObject([{ reason: { message: 'broken' } }, { reason: { message: 'broken' } }])
})

test('of a flood each gets its own answer, in a few batches, and beyond a bound a refusal', async () => {
  let batches = 0
  const ask = batchLookUps<number, number>({
    atMost: 1_000,
    atOnce: 2,
    mostWaiting: 10_000,
    async answer(questions) {
      batches++
      await nextTurn()
      return questions.map((question) => ({ status: 'fulfilled', value: -question }))
    },
  })
  const outcomes = await Promise.allSettled(Array.from({ length: 12_000 }, (_, index) => ask(index + 1)))
  const given = outcomes.flatMap((outcome, index) => (outcome.status === 'fulfilled' ? [[index, outcome.value]] : []))
  expect(given).toHaveLength(10_000)
  expect(given.every(([index, answer]) => answer === -(index! + 1))).toBe(true)
  expect(batches).toBe(10)
})
