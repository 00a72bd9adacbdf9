/**
 * Messages as an earlier version wrote them: processes of two versions run side by side during every update, and the
 * durable ones outlive it. A message changes additively only, so these stay readable; never edit one to make a test pass.
 */

import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { procedures } from './bus-roles.ts'
import golden from './golden-messages.json' with { type: 'json' }
import { keptHead } from './idempotency.ts'

/** `keptAnswers` are not on the bus: edges keep them in the idempotency store. */
const rows = Object.entries({ ...procedures, keptAnswers: { messages: { head: keptHead } } })
const parts = rows.flatMap(([row, { messages }]) =>
  Object.entries<z.ZodType>(messages).map(([part, schema]) => {
    const known = (golden as Record<string, Record<string, object[]>>)[row]?.[part] ?? []
    return { name: `${row}.${part}`, schema, known }
  }),
)

test.each(parts)('$name has a golden message', ({ known }) => {
  expect(known).not.toEqual([])
})

test('no golden message is without its row', () => {
  const named = Object.entries(golden).flatMap(([row, of]) => Object.keys(of).map((part) => `${row}.${part}`))
  expect(named.toSorted()).toEqual(parts.map(({ name }) => name).toSorted())
})

/** Several rows may share a schema: together they have every kind of it. */
test.each([...Map.groupBy(parts, ({ schema }) => schema)])(
  'each kind of a reply has a golden message',
  (schema, of) => {
    if (!(schema instanceof z.ZodDiscriminatedUnion)) return
    const kinds = schema.options.map((option) => String([...(option as z.ZodObject).shape['kind']!._zod.values!][0]))
    const known = of.flatMap((part) => part.known.map((message) => String((message as { kind?: string }).kind)))
    expect([...new Set(known)].toSorted()).toEqual(kinds.toSorted())
  },
)

const messages = parts.flatMap(({ name, schema, known }) =>
  known.map((message, index) => ({ name: known.length > 1 ? `${name} ${index}` : name, schema, message })),
)

describe.each(messages)('$name', ({ schema, message }) => {
  test('as it was first written is still read, nothing lost', () => {
    expect(schema.parse(message)).toMatchObject(message)
  })

  test('with a field that only a later version knows is read as well', () => {
    expect(schema.safeParse({ ...message, addedLater: 1 }).success).toBe(true)
  })
})
