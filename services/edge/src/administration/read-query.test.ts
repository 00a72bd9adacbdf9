import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { readQuery } from './read-query.ts'

const schema = z.strictObject({
  limit: z.coerce.number().optional(),
  project_ids: z.array(z.string()).optional(),
  group_by: z.array(z.string()).max(3).default([]),
  effective_at: z.strictObject({ gt: z.coerce.number().optional(), lte: z.coerce.number().optional() }).optional(),
})

test.each([
  ['', {}],
  ['limit=5&after=proj_1', { limit: '5', after: 'proj_1' }],
  ['project_ids[]=a', { project_ids: ['a'] }],
  ['project_ids%5B%5D=a&project_ids%5B%5D=b', { project_ids: ['a', 'b'] }],
  ['project_ids=a', { project_ids: ['a'] }],
  ['project_ids=a&project_ids=b', { project_ids: ['a', 'b'] }],
  ['group_by=model', { group_by: ['model'] }],
  ['effective_at[gt]=1&effective_at[lte]=2', { effective_at: { gt: '1', lte: '2' } }],
  ['limit=1&limit=2', { limit: ['1', '2'] }],
  ['a[b][c]=1', { 'a[b][c]': '1' }],
])('%j is read as OpenAI’s clients mean it', (query, expected) => {
  expect(readQuery(query, schema)).toEqual(expected)
})

test.each([
  'effective_at[gt]=1&effective_at[gt]=2',
  'effective_at=1&effective_at[gt]=2',
  'effective_at[gt]=1&effective_at=2',
])('%j has two readings and is refused', (query) => {
  expect(() => readQuery(query, schema)).toThrow('effective_at: has two forms in one query')
})

test.each([
  ['limit=', 'limit'],
  ['limit=&after=proj_1', 'limit'],
  ['effective_at[gt]=', 'effective_at.gt'],
  ['effective_at[gt]=1&effective_at[lte]=', 'effective_at.lte'],
])('%j, as a script without a value writes it, is refused and not read as 0', (query, param) => {
  expect(() => readQuery(query, schema)).toThrow(expect.objectContaining({ details: { param } }))
})

test('no query reaches the prototype of an object', () => {
  const read = readQuery('__proto__[polluted]=1&constructor[prototype]=2&toString=3', schema)
  expect(Object.keys(read)).toEqual(['__proto__', 'constructor', 'toString'])
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  expect(({} as { polluted?: string }).polluted).toBeUndefined()
  expect(schema.safeParse(read).success).toBe(false)
})

test('any query is read or refused, and its names alone become members', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (pairs) => {
      const query = new URLSearchParams(pairs).toString()
      try {
        const names = Object.keys(readQuery(query, schema))
        for (const name of names) expect(pairs.some(([written]) => written.startsWith(name))).toBe(true)
      } catch (refusal) {
        expect(refusal).toMatchObject({ code: 'VALIDATION_ERROR' })
      }
    }),
  )
})
