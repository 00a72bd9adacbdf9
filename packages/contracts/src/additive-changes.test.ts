/**
 * A message of a newer version: fields that this version does not know, in every object, and words of enums that it does
 * not know. This version reads it and loses nothing that it knows.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { procedures } from './bus-roles.ts'
import golden from './golden-messages.json' with { type: 'json' }
import { keptHead } from './idempotency.ts'

const rows = Object.entries({ ...procedures, keptAnswers: { messages: { head: keptHead } } })
const parts = rows.flatMap(([row, { messages }]) =>
  Object.entries<z.ZodType>(messages).map(([part, schema]) => {
    const known = (golden as unknown as Record<string, Record<string, object[]>>)[row]![part]!
    return { name: `${row}.${part}`, schema, known }
  }),
)

/** Every enum that stays closed, and the reason: a reader cannot do its work without the meaning of the word. */
const CLOSED = {
  unit: 'an amount in an unknown unit cannot be counted: metering and keys are updated first',
  'price.kind': 'an unknown price cannot be charged: metering is updated first, until then it keeps the report aside',
  v: 'another version of a durable message is no additive change',
  kind: 'a router does not serve a kind of job that it does not know, a requester does not act on a reply that it does not know',
  'needs[]': 'a router cannot tell whether its backends have an unknown capability',
  dialect: 'a router cannot translate a dialect that it does not know',
  compaction: 'a router cannot compact in a way that it does not know',
  encodingFormat: 'a router cannot write an unknown format',
  'credential.role': 'keys cannot decide access for a role that it does not know',
  code: 'an HTTP status and a body belong to a code: edges are updated first',
  groupBy: 'metering cannot group by an unknown word',
  'details.type': 'the HTTP contract names these types: the failure is read without its details',
  'details.scope': 'the HTTP contract names these scopes: the failure is read without its details',
}

interface Enum {
  path: string
  isOpen: boolean
}

const nothing: Enum[] = []
/** The enums of a schema, by the path to each. */
function enumsOf(schema: z.core.$ZodType, path = ''): Enum[] {
  const { def } = schema._zod as unknown as { def: Record<string, unknown> & { type: string } }
  const inner = (at: unknown, to = path) => enumsOf(at as z.core.$ZodType, to)
  if (def.type === 'enum' || def.type === 'literal') return [{ path, isOpen: false }]
  if (isOpen(schema)) return [{ path, isOpen: true }]
  if (def.type === 'object') {
    const shape = Object.entries(def['shape'] as Record<string, z.core.$ZodType>)
    return shape.flatMap(([name, field]) => inner(field, path === '' ? name : `${path}.${name}`))
  }
  if (def.type === 'array') return inner(def['element'], `${path}[]`)
  if (def.type === 'union') return (def['options'] as unknown[]).flatMap((option) => inner(option))
  if (def.type === 'record') return inner(def['valueType'], `${path}[]`)
  return 'innerType' in def ? inner(def['innerType']) : nothing
}

const isOpen = (schema: z.core.$ZodType): boolean => (schema as z.ZodType).meta?.()?.['known'] !== undefined

test('an enum is open, or closed for a reason', () => {
  const closed = parts.flatMap(({ name, schema }) =>
    enumsOf(schema).flatMap((one) => (one.isOpen ? [] : [{ name, path: one.path }])),
  )
  const reasonOf = (path: string) => Object.keys(CLOSED).find((end) => path === end || path.endsWith(`.${end}`))
  expect(closed.filter(({ path }) => reasonOf(path) === undefined)).toEqual([])
  expect(Object.keys(CLOSED).filter((end) => !closed.some(({ path }) => reasonOf(path) === end))).toEqual([])
})

/** The message as a newer version writes it, and the members that this version must find in it. */
function newer(schema: z.core.$ZodType, value: unknown, word: string): { written: unknown; read: unknown } {
  const { def } = schema._zod as unknown as { def: Record<string, unknown> & { type: string } }
  if (isOpen(schema)) return { written: word, read: word }
  if (value === null || value === undefined) return { written: value, read: value }
  if ('innerType' in def) return newer(def['innerType'] as z.core.$ZodType, value, word)
  if (def.type === 'array') {
    const items = (value as unknown[]).map((item) => newer(def['element'] as z.core.$ZodType, item, word))
    return { written: items.map(({ written }) => written), read: items.map(({ read }) => read) }
  }
  if (def.type === 'union') {
    const option = (def['options'] as z.ZodType[]).find((one) => one.safeParse(value).success)!
    return newer(option, value, word)
  }
  if (def.type !== 'object') return { written: value, read: value }
  const shape = def['shape'] as Record<string, z.core.$ZodType>
  const fields = Object.entries(value).map(([name, field]) => [name, newer(shape[name]!, field, word)] as const)
  const of = (side: 'written' | 'read') => Object.fromEntries(fields.map(([name, both]) => [name, both[side]]))
  return { written: { ...of('written'), addedLater: word, addedObject: { [word]: [word] } }, read: of('read') }
}

const messages = parts.flatMap(({ name, schema, known }) => known.map((message) => ({ name, schema, message })))

describe.each(messages)('$name of a newer version', ({ schema, message }) => {
  test('is read, nothing lost', () => {
    fc.assert(
      fc.property(fc.string(), (word) => {
        const { written, read } = newer(schema, message, word)
        const parsed = schema.parse(JSON.parse(JSON.stringify(written)))
        expect(parsed).toMatchObject(read as object)
        expect(JSON.stringify(parsed)).not.toContain('"addedLater"')
      }),
      { numRuns: 20 },
    )
  })
})
