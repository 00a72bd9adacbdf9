import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isReadExactly, MOST_LEVELS, MOST_VALUES, readShape } from './json.ts'

const problemOf = (text: string) => readShape(text).problem
const nested = (levels: number) => '{"a":['.repeat(levels / 2) + ']}'.repeat(levels / 2)

describe('the shape of a body', () => {
  test('may be nested up to a depth', () => {
    expect(problemOf(nested(MOST_LEVELS))).toBeNull()
    expect(problemOf(nested(MOST_LEVELS + 2))).toContain('nested deeper')
    expect(problemOf('['.repeat(12_000_000))).toContain('nested deeper')
  })

  test('may have values up to a number', () => {
    expect(problemOf(`[${'1,'.repeat(MOST_VALUES - 2)}1]`)).toBeNull()
    expect(problemOf(`[${'1,'.repeat(MOST_VALUES)}1]`)).toContain('values')
    expect(problemOf(`[${'[],'.repeat(MOST_VALUES)}1]`)).toContain('values')
  })

  test.each([
    ['brackets', '['],
    ['escaped quotes', '\\"['],
    ['backslashes before quotes', '\\\\'],
    ['commas', ','],
  ])('does not depend on %s inside of strings', (_, part) => {
    expect(problemOf(`{"a":"${part.repeat(MOST_VALUES * 2)}"}`)).toBeNull()
    expect(problemOf(`["${part.repeat(9)}",${'['.repeat(MOST_LEVELS)}`)).toContain('nested deeper')
  })

  test('is counted for every JSON value as a parser would count it', () => {
    const levelsOf = (value: unknown): number =>
      typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(levelsOf)) : 0
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const deep = `${'['.repeat(MOST_LEVELS - 4)}${JSON.stringify(value)}${']'.repeat(MOST_LEVELS - 4)}`
        expect(problemOf(deep) === null).toBe(levelsOf(value) <= 4)
      }),
    )
  })

  test('says of any text whether a parser reads its numbers and names exactly', () => {
    const part = fc.constantFrom(...'" \\ a : , { } [ ] - 1 0 . e 1234567890'.split(' '), ' ')
    fc.assert(
      fc.property(fc.string({ unit: part, maxLength: 40 }), (text) => {
        expect(readShape(text)).toEqual({ problem: null, isReadExactly: isReadExactly(text) })
      }),
      { numRuns: 5_000 },
    )
  })

  test('of no JSON at all is the parser’s to judge', () => {
    for (const text of ['', '"', '"\\', ']]]]', '{"a', '\u0000']) expect(problemOf(text)).toBeNull()
  })

  test('is counted within the time of a blink, for any 25 MB', () => {
    const texts = ['a', '\\"', '[],', '{"a":', '"",', '"a":1,'].map((part) => `["${part.repeat(25e6 / part.length)}`)
    for (const text of [...texts, ...texts.map((each) => each.replace('"', ''))]) {
      const { user: before } = process.threadCpuUsage()
      readShape(text)
      expect((process.threadCpuUsage().user - before) / 1_000).toBeLessThan(1_000)
    }
  })
})
