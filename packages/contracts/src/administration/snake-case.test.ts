import { expect, test } from 'vitest'
import type * as z from 'zod'
import type { Operation } from './operation.ts'
import { accountView } from '../accounts-api.ts'
import { accountUsageReply, usageByAccountReply } from '../metering-api.ts'
import { showRoutersReply } from '../routers-api.ts'
import { operations } from './operations.ts'
import { camelCased, snakeCased } from './snake-case.ts'

const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/

/** The parts of a schema that may hold further schemas, as zod defines its kinds. */
interface Definition {
  type: string
  shape?: Record<string, z.ZodType>
  element?: z.ZodType
  innerType?: z.ZodType
  options?: z.ZodType[]
  items?: z.ZodType[]
  valueType?: z.ZodType
  left?: z.ZodType
  right?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
}
const definitionOf = (schema: z.ZodType) => schema.def as unknown as Definition

const LEAVES = new Set(['string', 'number', 'boolean', 'literal', 'enum', 'null', 'unknown', 'transform', 'never'])

/** Every member with its path. A kind that this walk does not know fails the test. */
function membersOf(schema: z.ZodType, path: string): string[] {
  const { type, shape = {}, ...def } = definitionOf(schema)
  const own = Object.entries(shape).flatMap(([name, member]) => [
    `${path}.${name}`,
    ...membersOf(member, `${path}.${name}`),
  ])
  const inner = [def.element, def.innerType, def.valueType, def.left, def.right, def.in, def.out]
  const children = [...inner, ...(def.options ?? []), ...(def.items ?? [])].filter((child) => child !== undefined)
  if (type !== 'object' && children.length === 0 && !LEAVES.has(type)) throw new Error(`${path}: an unknown ${type}`)
  return [...own, ...children.flatMap((child) => membersOf(child, path))]
}

test.each(Object.entries<Operation>(operations))('%s: every member has a name in snake_case', (name, row) => {
  const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, member]) => `${name} path.${member}`)
  const members = [
    ...inPath,
    ...membersOf(row.query, `${name} query`),
    ...membersOf(row.body, `${name} body`),
    ...membersOf(row.output, `${name} output`),
  ]
  expect(members.filter((member) => !SNAKE_CASE.test(member.split('.').at(-1)!))).toEqual([])
})

test.each(Object.entries({ accountView, accountUsageReply, usageByAccountReply, showRoutersReply }))(
  'a message %s of the bus keeps its members and values on its way through the API',
  (_, schema) => {
    const names = membersOf(schema, '').map((member) => member.split('.').at(-1)!)
    expect(names.length).toBeGreaterThan(1)
    const message = { list: [Object.fromEntries(names.map((name) => [name, { [name]: 'someValue a_b' }])), null, 1] }
    expect(camelCased(snakeCased(message))).toEqual(message)
    const written = Object.keys(snakeCased(message).list[0] as object)
    expect(written.filter((name) => !SNAKE_CASE.test(name))).toEqual([])
  },
)
