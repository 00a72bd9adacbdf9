import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { keepFigures, KEPT_MS } from './cached-figures.ts'

/** A ledger whose replies come when the test says so, and the figures kept of it. */
function ledgerOf() {
  const reads: { account: string; resolve: (used: number) => void; fail: (error: Error) => void }[] = []
  const clock = { nowMs: 0 }
  const read = ({ account }: { account: string; day?: number }) =>
    new Promise<number>((resolve, fail) => reads.push({ account, resolve, fail }))
  return { reads, clock, figures: keepFigures(read, () => clock.nowMs) }
}

test('64 requests at once, and those within a second, share one call to the ledger', async () => {
  const { reads, clock, figures } = ledgerOf()
  const figuresRead = Array.from({ length: 64 }, () => figures.read({ account: 'a' }))
  await turn()
  reads[0]!.resolve(7)
  expect(new Set(await Promise.all(figuresRead))).toEqual(new Set([7]))
  clock.nowMs += KEPT_MS - 1
  expect(await figures.read({ account: 'a' })).toBe(7)
  expect(reads).toHaveLength(1)
  clock.nowMs += 1
  void figures.read({ account: 'a' })
  await turn()
  expect(reads).toHaveLength(2)
})

test('a request that has ended shows at once, also where a call to the ledger was under way when it ended', async () => {
  const { reads, figures } = ledgerOf()
  const before = figures.read({ account: 'a' })
  await turn()
  figures.ended('a')
  const after = figures.read({ account: 'a' })
  await turn()
  reads[0]!.resolve(1)
  reads[1]!.resolve(2)
  expect([await before, await after, await figures.read({ account: 'a' })]).toEqual([1, 2, 2])
})

test('two accounts share nothing', async () => {
  const { reads, figures } = ledgerOf()
  const figuresRead = ['a', 'b'].map((account) => figures.read({ account }))
  await turn()
  reads.forEach(({ resolve }, index) => resolve(index))
  expect(await Promise.all(figuresRead)).toEqual([0, 1])
  figures.ended('b')
  expect(await figures.read({ account: 'a' })).toBe(0)
})

test('a failure reaches its waiting callers, and is not kept', async () => {
  const { reads, figures } = ledgerOf()
  const figuresRead = [1, 2].map(() => figures.read({ account: 'a' }))
  await turn()
  reads[0]!.fail(new Error('away'))
  for (const resolve of figuresRead) await expect(resolve).rejects.toThrow('away')
  void figures.read({ account: 'a' })
  await turn()
  expect(reads).toHaveLength(2)
})

test('different questions of one account wait for each other, and beyond so many are refused with when to come back', async () => {
  const { reads, figures } = ledgerOf()
  const figuresRead = Array.from({ length: 100 }, (_, day) =>
    figures.read({ account: 'a', day }).catch((error: { details: object }) => error.details),
  )
  await turn()
  expect(reads).toHaveLength(2)
  const other = figures.read({ account: 'b' })
  await turn()
  expect(reads).toHaveLength(3)
  for (let next = 0; next < 67; next++) {
    reads[next]!.resolve(next)
    await turn()
  }
  expect(await other).toBe(2)
  const settled = await Promise.all(figuresRead)
  expect(settled.filter((resolve) => typeof resolve === 'number')).toHaveLength(66)
  expect(settled.at(-1)).toMatchObject({ retryAfterMs: KEPT_MS })
})
