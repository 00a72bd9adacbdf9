import { describe, expect, test } from 'vitest'
import { readCode } from './read-code.ts'

const titlesIn = (source: string): string[] => readCode(source).titles.map(({ text }) => text)

describe('a title of a test is found', () => {
  test.each([
    ['of a plain one', `test('it works', () => {})`],
    ['of a group', `describe('it works', () => {})`],
    ['of one that is skipped', `test.skip('it works', () => {})`],
    ['behind cases', `test.each([1, 2])('it works', () => {})`],
    ['behind cases with strings', `test.each([['a', 'b (c']])('it works', (a) => {})`],
    ['behind cases with calls', `test.each([[f(g(h()))]] as const)('it works', (a) => {})`],
    ['behind cases in a variable', `describe.for(cases)('it works', (a) => {})`],
    ['behind cases with types', `test.each<[string, (a: A) => B]>([['a', f]])('it works', (a) => {})`],
    ['on a line of its own', `test.for(cases)(\n  'it works',\n  (a) => {},\n)`],
    ['in a template', 'test(`it works`, () => {})'],
    ['behind another test', `test('a', () => {})\ntest('it works', () => {})`],
  ])('%s', (_, source) => {
    expect(titlesIn(source)).toContain('it works')
  })

  test('after cases that fill pages', () => {
    const cases = Array.from({ length: 2_000 }, (_, at) => `['a', f(${at})],`).join('\n')
    expect(titlesIn(`test.each([\n${cases}\n])('it works', () => {})`)).toEqual(['it works'])
  })
})

test.each([
  ['the cases of a test', `test.each([['a b', 1]])('title', () => {})`, ['title']],
  ['an argument of a call', `expect(read('a b')).toBe('c d')`, []],
  ['a call of a result', `open(cases)('a b')`, []],
  ['the rest of a template', 'test(`a ${b} c`, () => {})', ['a ']],
])('%s has no title of its own', (_, source, titles) => {
  expect(titlesIn(source)).toEqual(titles)
})
