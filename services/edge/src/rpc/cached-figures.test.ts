import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { keepFigures, KEPT_MS } from './cached-figures.ts'

/** A ledger whose answers come when the test says so, and the figures kept of it. */
function ledgerOf() {
  const asked: { account: string; answer: (used: number) => void; fail: (error: Error) => void }[] = []
  const clock = { nowMs: 0 }
  const read = ({ account }: { account: string; day?: number }) =>
    new Promise<number>((answer, fail) => asked.push({ account, answer, fail }))
  return { asked, clock, figures: keepFigures(read, () => clock.nowMs) }
}

test('64 who ask at once, and those who ask within a second, share one question to the ledger', async () => {
  const { asked, clock, figures } = ledgerOf()
  const answers = Array.from({ length: 64 }, () => figures.ask({ account: 'a' }))
  await turn()
  asked[0]!.answer(7)
  expect(new Set(await Promise.all(answers))).toEqual(new Set([7]))
  clock.nowMs += KEPT_MS - 1
  expect(await figures.ask({ account: 'a' })).toBe(7)
  expect(asked).toHaveLength(1)
  clock.nowMs += 1
  void figures.ask({ account: 'a' })
  await turn()
  expect(asked).toHaveLength(2)
})

test('a request that has ended shows at once, also where the ledger was being asked when it ended', async () => {
  const { asked, figures } = ledgerOf()
  const before = figures.ask({ account: 'a' })
  await turn()
  figures.ended('a')
  const after = figures.ask({ account: 'a' })
  await turn()
  asked[0]!.answer(1)
  asked[1]!.answer(2)
  expect([await before, await after, await figures.ask({ account: 'a' })]).toEqual([1, 2, 2])
})

test('two accounts share nothing', async () => {
  const { asked, figures } = ledgerOf()
  const answers = ['a', 'b'].map((account) => figures.ask({ account }))
  await turn()
  asked.forEach(({ answer }, index) => answer(index))
  expect(await Promise.all(answers)).toEqual([0, 1])
  figures.ended('b')
  expect(await figures.ask({ account: 'a' })).toBe(0)
})

test('a failure is told to those who wait for it, and not kept', async () => {
  const { asked, figures } = ledgerOf()
  const answers = [1, 2].map(() => figures.ask({ account: 'a' }))
  await turn()
  asked[0]!.fail(new Error('away'))
  for (const answer of answers) await expect(answer).rejects.toThrow('away')
  void figures.ask({ account: 'a' })
  await turn()
  expect(asked).toHaveLength(2)
})

test('different questions of one account wait for each other, and beyond so many are refused with when to come back', async () => {
  const { asked, figures } = ledgerOf()
  const answers = Array.from({ length: 100 }, (_, day) =>
    figures.ask({ account: 'a', day }).catch((error: { details: object }) => error.details),
  )
  await turn()
  expect(asked).toHaveLength(2)
  const other = figures.ask({ account: 'b' })
  await turn()
  expect(asked).toHaveLength(3)
  for (let next = 0; next < 67; next++) {
    asked[next]!.answer(next)
    await turn()
  }
  expect(await other).toBe(2)
  const reported = await Promise.all(answers)
  expect(reported.filter((answer) => typeof answer === 'number')).toHaveLength(66)
  expect(reported.at(-1)).toMatchObject({ retryAfterMs: KEPT_MS })
})
