import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError } from '@gateway/contracts/errors'
import { MOST_TAGS, tagsHeader, tagsInMetadata, tagsOf } from './tags.ts'

const word = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/).filter((name) => name !== '__proto__')
const anyTags = fc.uniqueArray(fc.tuple(word, word), { selector: ([name]) => name, maxLength: MOST_TAGS })
const format = (tags: [string, string][], comma = ',') => tags.map(([name, value]) => `${name}=${value}`).join(comma)

test('a header of any tags is read as it was written, with or without spaces behind the commas', () => {
  fc.assert(
    fc.property(anyTags, fc.constantFrom(',', ', '), (tags, comma) => {
      expect(Object.entries(tagsOf(format(tags, comma), undefined) ?? {})).toEqual(
        Object.entries(Object.fromEntries(tags)),
      )
    }),
  )
})

test('any text is a list of tags within the bounds, or a fault that names the header', () => {
  const nearly = fc.stringMatching(/^[a-z=, ]{0,20}$/)
  fc.assert(
    fc.property(fc.oneof(fc.string(), nearly), (text) => {
      try {
        const tags = Object.entries(tagsOf(text, undefined) ?? {})
        expect(tags.length).toBeLessThanOrEqual(MOST_TAGS)
        for (const [name, value] of tags)
          expect(`${name}=${value}`).toMatch(/^[A-Za-z0-9._-]{1,64}=[A-Za-z0-9._-]{1,64}$/)
        // Nothing of it was left out.
        expect(tags).toHaveLength(text.trim() === '' ? 0 : text.split(',').length)
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error
        expect(error).toMatchObject({ code: 'VALIDATION_ERROR', details: { param: 'x-svc-tags' } })
        expect(error.message).toMatch(/^x-svc-tags: /)
      }
    }),
  )
})

test('the API reference takes the headers that the gateway takes, but for names that stand twice', () => {
  const nearly = fc.stringMatching(/^( ?[a-z]{1,2}=?[a-z]? ?,?){0,10}$/)
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        nearly,
        anyTags.map((tags) => format(tags)),
      ),
      (text) => {
        let fault = ''
        try {
          tagsOf(text, undefined)
        } catch (error) {
          fault = String(error)
        }
        fc.pre(!/must name .* once/.test(fault))
        expect([text, tagsHeader.safeParse(text).success]).toEqual([text, fault === ''])
      },
    ),
  )
})

test.each([
  'team',
  'team=',
  '=search',
  'team=a=b',
  'team=search,',
  'team=search;env=prod',
  'team=two words',
  'team=ü',
  'team=a,team=b',
  '__proto__=a',
  `team=${'x'.repeat(65)}`,
  Array.from({ length: 9 }, (_, at) => `t${at}=v`).join(','),
])('the header %s is a fault', (header) => {
  expect(() => tagsOf(header, undefined)).toThrow(/^x-svc-tags: must/)
})

test('of metadata, the pairs that fit are tags; of all, the header first, eight stay', () => {
  const anyValue = fc.oneof(word, fc.string({ maxLength: 80 }), fc.integer())
  const anyMetadata = fc.dictionary(fc.oneof(word, fc.string({ maxLength: 80 })), anyValue, { maxKeys: 16 })
  fc.assert(
    fc.property(anyTags, anyMetadata, (tags, metadata) => {
      const merged = tagsOf(format(tags), tagsInMetadata(metadata))
      const fitting = Object.entries(metadata).filter(
        ([name, value]) =>
          typeof value === 'string' &&
          name !== '__proto__' &&
          [name, value].every((text) => /^[A-Za-z0-9._-]{1,64}$/.test(text)),
      )
      const names = [...tags.map(([name]) => name), ...fitting.map(([name]) => name)]
      const all = new Set(names)
      expect(Object.keys(merged ?? {})).toHaveLength(Math.min(MOST_TAGS, all.size))
      for (const [name, value] of tags) expect(merged).toHaveProperty([name], value)
      for (const [name, value] of Object.entries(merged ?? {}))
        expect([...tags, ...fitting].some(([one, its]) => one === name && its === value)).toBe(true)
    }),
  )
})

test('a request without tags has none, and metadata of another form names none', () => {
  expect(tagsOf(undefined, undefined)).toBeUndefined()
  expect(tagsOf('', { team: 'search' })).toEqual({ team: 'search' })
  for (const metadata of [undefined, null, 'team=search', ['team'], { 'two words': 'x' }])
    expect(tagsInMetadata(metadata)).toBeUndefined()
})
