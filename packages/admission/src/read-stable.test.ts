import { expect, test } from 'vitest'
import { readStable } from './read-stable.ts'

test('an audit keeps lasting differences, drops passing ones, and reads a healthy account once', async () => {
  const looks: (readonly string[])[] = []
  const found = (account: string, id: string) => ({ account, id })
  const reads = [
    [found('a', 'a lasts'), found('a', 'a passes'), found('b', 'b moves 1')],
    [found('a', 'a lasts'), found('b', 'b moves 2')],
  ]
  const lasting = await readStable(
    ['a', 'b', 'c'],
    async (accounts) => {
      looks.push(accounts)
      return reads.shift()!
    },
    1,
  )
  expect(lasting).toEqual([found('a', 'a lasts')])
  expect(looks).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b'],
  ])
})

test('an audit without differences does not wait', async () => {
  expect(await readStable(['a'], async () => [], 3_600_000)).toEqual([])
})
