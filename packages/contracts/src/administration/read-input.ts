/**
 * Reads the input of an administration call by its row: the names of the path, the query and the body stand in one object.
 */

import type { Operation } from './operation.ts'
import { GatewayError } from '../errors.ts'
import * as z from 'zod'

export function readInput(row: Operation, input: Record<string, unknown>): Record<string, unknown> {
  refuseUnstorable(input)
  const path = pathOf(row)
  const isQuery = (name: string) => Object.hasOwn(row.query.shape, name) && !Object.hasOwn(path.shape, name)
  const isBody = (name: string) => !Object.hasOwn(path.shape, name) && !isQuery(name)
  return {
    ...read(
      path,
      pick(input, (name) => Object.hasOwn(path.shape, name)),
    ),
    ...read(row.query, pick(input, isQuery)),
    ...read(row.body, pick(input, isBody)),
  }
}

function pathOf({ path }: Operation): z.ZodObject {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  return z.strictObject(Object.fromEntries(names.map((name) => [name, z.string().min(1).max(256)])))
}

function pick(input: Record<string, unknown>, isWanted: (name: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([name]) => isWanted(name)))
}

function read(schema: z.ZodObject, value: Record<string, unknown>): Record<string, unknown> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  if (issue.code === 'unrecognized_keys')
    throw invalid([...issue.path, issue.keys[0]!], 'is not a parameter of this call')
  throw invalid(issue.path, issue.message)
}

/** The database holds neither NUL nor half a surrogate pair. */
export function refuseUnstorable(value: unknown, path: readonly PropertyKey[] = []): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) throw invalid(path, 'has a character that cannot be stored')
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) refuseUnstorable(member, [...path, name])
  }
}

function invalid(path: readonly PropertyKey[], message: string): GatewayError {
  const param = path.map(String).join('.')
  return new GatewayError('VALIDATION_ERROR', `${param || 'body'}: ${message}`, param ? { param } : {})
}
