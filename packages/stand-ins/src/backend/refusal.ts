/**
 * A request that the simulated backend refuses, in the OpenAI error shape.
 */

export class Refusal extends Error {
  readonly status: number
  readonly param: string | null
  readonly code: string | null

  constructor(message: string, options: { status?: number; param?: string; code?: string } = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = options.status ?? 400
    this.param = options.param ?? null
    this.code = options.code ?? null
  }
}

export function errorBody(
  message: string,
  type: string,
  param: string | null = null,
  code: string | null = null,
): string {
  return JSON.stringify({ error: { message, type, param, code } })
}

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Refuses a field of the wrong type; an absent one and null are the same to a backend. */
export function optional<T>(
  body: JsonObject,
  field: string,
  type: string,
  is: (value: unknown) => value is T,
): T | undefined {
  const value = body[field]
  if (value === undefined || value === null) return undefined
  if (!is(value))
    throw new Refusal(`Invalid type for '${field}': expected ${type}.`, { param: field, code: 'invalid_type' })
  return value
}

export function required<T>(body: JsonObject, field: string, type: string, is: (value: unknown) => value is T): T {
  const value = optional(body, field, type, is)
  if (value === undefined) {
    throw new Refusal(`Missing required parameter: '${field}'.`, { param: field, code: 'missing_required_parameter' })
  }
  return value
}

export const isString = (value: unknown): value is string => typeof value === 'string'
export const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'
export const isNumber = (value: unknown): value is number => typeof value === 'number'
export const isCount = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 1
