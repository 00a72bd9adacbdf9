import fc from 'fast-check'
import { validateHeaderValue } from 'node:http'
import { expect, test } from 'vitest'
import { reportedNames } from './job-context.ts'

test('the parameters that clients know stay as they are', () => {
  expect(reportedNames(['chat_template_kwargs', 'top_p'])).toEqual(['chat_template_kwargs', 'top_p'])
})

test('a header can hold any names that a client invents, and clients can read it', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 2_000 }), { maxLength: 200 }), (names) => {
      const header = reportedNames(names).join(', ')
      validateHeaderValue('x-svc-dropped-params', header)
      expect(header.length).toBeLessThan(4_000)
    }),
  )
  expect(reportedNames(['\r\nset-cookie: a', 'ключ', '\ud800'])).toEqual([
    '%0D%0Aset-cookie%3A%20a',
    '%D0%BA%D0%BB%D1%8E%D1%87',
    '%EF%BF%BD',
  ])
})

test('a long list that does not fit ends with the count of its other names', () => {
  const names = Array.from({ length: 100_000 }, (_, at) => `parameter_${at}`)
  const reported = reportedNames(names)
  expect(reported.at(-1)).toBe(`and ${names.length - (reported.length - 1)} more`)
})
