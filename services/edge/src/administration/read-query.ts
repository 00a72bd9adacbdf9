/**
 * Reads the query of an administration call in the form that OpenAI's clients write: `project_ids[]=a&project_ids[]=b` is a list,
 * `effective_at[gt]=1` a member. The row of the call refuses names that it does not have.
 */

import type * as z from 'zod'
import { GatewayError } from '@gateway/contracts/errors'

type Value = string | string[] | Record<string, string>

const MEMBER = /^([^[\]]+)\[([^[\]]*)\]$/

/** `query`: without its question mark. `schema`: a parameter that it has as a list may come as one text. */
export function readQuery(query: string, schema: z.ZodObject): Record<string, Value> {
  const values = new Map<string, Value>()
  for (const [written, text] of new URLSearchParams(query)) {
    const [, name = written, member = null] = MEMBER.exec(written) ?? []
    values.set(name, added(values.get(name), { name, member, text }))
  }
  for (const [name, value] of values) {
    refuseEmptyNumber(schema, [name], value)
    if (typeof value === 'string' && isList(schema, name)) values.set(name, [value])
  }
  return Object.fromEntries(values)
}

interface Parameter {
  name: string
  /** Of `name[member]`; null for a plain name, empty for an item of a list. */
  member: string | null
  text: string
}

function added(before: Value | undefined, { name, member, text }: Parameter): Value {
  if (member !== null && member !== '') {
    if (before === undefined) return { [member]: text }
    if (isMembers(before) && !Object.hasOwn(before, member)) return { ...before, [member]: text }
  } else if (before === undefined) {
    return member === null ? text : [text]
  } else if (!isMembers(before)) {
    return [...(Array.isArray(before) ? before : [before]), text]
  }
  throw new GatewayError('VALIDATION_ERROR', `${name}: has two forms in one query`, { param: name })
}

function isMembers(value: Value): value is Record<string, string> {
  return typeof value === 'object' && !Array.isArray(value)
}

function isList(schema: z.ZodObject, name: string): boolean {
  return memberOf(schema, name)?.def.type === 'array'
}

/** JavaScript reads an empty text as 0. */
function refuseEmptyNumber(schema: z.ZodObject, path: string[], value: Value): void {
  const of = memberOf(schema, path.at(-1)!)
  if (value === '' && of?.def.type === 'number') {
    const param = path.join('.')
    throw new GatewayError('VALIDATION_ERROR', `${param}: is empty`, { param })
  }
  if (!isMembers(value) || of?.def.type !== 'object') return
  for (const [name, member] of Object.entries(value)) refuseEmptyNumber(of as z.ZodObject, [...path, name], member)
}

function memberOf({ shape }: z.ZodObject, name: string): z.ZodType | undefined {
  return Object.hasOwn(shape, name) ? innermost(shape[name] as z.ZodType) : undefined
}

/** Without the layers of an optional value or of one with a default. */
function innermost(schema: z.ZodType): z.ZodType {
  const { innerType } = schema.def as { innerType?: z.ZodType }
  return innerType ? innermost(innerType) : schema
}
