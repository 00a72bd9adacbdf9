import fc from 'fast-check'
import { expect, test } from 'vitest'
import { topUpAddress } from './top-ups.ts'

test.each([
  ['https://pay.example', 'https://pay.example?project=proj_1'],
  ['https://pay.example/top-up?theme=dark', 'https://pay.example/top-up?theme=dark&project=proj_1'],
  ['https://pay.example/#/top-up', 'https://pay.example/?project=proj_1#/top-up'],
  ['https://pay.example/a?b=c%20d#e?f', 'https://pay.example/a?b=c%20d&project=proj_1#e?f'],
])('the address %s names the project', (url, named) => {
  expect(topUpAddress(url, 'proj_1')).toBe(named)
  expect(topUpAddress(url, undefined)).toBe(url)
})

test('a payment page reads the project and all that the operator wrote, for any address', () => {
  const urls = fc.webUrl({ withQueryParameters: true, withFragments: true })
  fc.assert(
    fc.property(urls, fc.string({ unit: 'grapheme', minLength: 1 }), (url, project) => {
      const [before, after] = [new URL(url), new URL(topUpAddress(url, project))]
      const [last, ...others] = [...after.searchParams].toReversed()
      expect(last).toEqual(['project', project])
      expect(others.toReversed().filter(([name]) => name !== '')).toEqual(
        [...before.searchParams].filter(([name]) => name !== ''),
      )
      for (const part of ['origin', 'pathname', 'hash'] as const) expect(after[part]).toBe(before[part])
    }),
  )
})
