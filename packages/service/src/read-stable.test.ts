import { expect, test } from 'vitest'
import { readStable } from './read-stable.ts'

test('what lasts is kept, what was on its way is not, and what is well is looked at once', async () => {
  const looks: (readonly string[])[] = []
  const found = (account: string, id: string) => ({ account, id })
  const answers = [
    [found('a', 'a lasts'), found('a', 'a passes'), found('b', 'b moves 1')],
    [found('a', 'a lasts'), found('b', 'b moves 2')],
  ]
  const lasting = await readStable(
    ['a', 'b', 'c'],
    async (accounts) => {
      looks.push(accounts)
      return answers.shift()!
    },
    1,
  )
  expect(lasting).toEqual([found('a', 'a lasts')])
  expect(looks).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b'],
  ])
})

test('where nothing is found, nobody waits', async () => {
  expect(await readStable(['a'], async () => [], 3_600_000)).toEqual([])
})
