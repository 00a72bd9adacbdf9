/**
 * Messages of the bus have names in camelCase, `/admin/v1` in snake_case as OpenAI's API. A schema and a value of the bus become
 * those of the API here, and a value of the API becomes one of the bus. Values inside keep their text.
 */

import * as z from 'zod'

type SnakeName<Name> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeName<Rest>}`
    : `_${Lowercase<First>}${SnakeName<Rest>}`
  : Name

/** `T` with the names of its members in snake_case, at every depth. */
export type SnakeCased<T> = T extends string
  ? T
  : T extends readonly (infer Item)[]
    ? SnakeCased<Item>[]
    : T extends object
      ? { [Name in keyof T as SnakeName<Name>]: SnakeCased<T[Name]> }
      : T

type SnakeShape<Shape> = { [Name in keyof Shape & string as SnakeName<Name>]: SnakeSchema<Shape[Name]> }
type SnakeSchema<Schema> =
  Schema extends z.ZodObject<infer Shape>
    ? z.ZodObject<SnakeShape<Shape>>
    : Schema extends z.ZodArray<infer Item extends z.ZodType>
      ? z.ZodArray<SnakeSchema<Item> & z.ZodType>
      : Schema

export function snakeCasedSchema<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
): z.ZodObject<SnakeShape<Shape>> {
  return z.object(renamed(schema.shape)) as unknown as z.ZodObject<SnakeShape<Shape>>
}

function renamed(shape: z.core.$ZodLooseShape): z.core.$ZodLooseShape {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [toSnake(name), memberSchema(schema)]))
}

/** Plain lists and objects alone have members of their own in these messages. */
function memberSchema(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodObject) return z.object(renamed(schema.shape))
  if (schema instanceof z.ZodArray) return z.array(memberSchema(schema.element))
  return schema
}

export function snakeCased<T>(value: T): SnakeCased<T> {
  return rename(value, toSnake) as SnakeCased<T>
}

/** Its reader parses the result with the schema of the bus. */
export function camelCased(value: unknown): unknown {
  return rename(value, toCamel)
}

function rename(value: unknown, nameOf: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => rename(item, nameOf))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [nameOf(name), rename(member, nameOf)]))
}

function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function toCamel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
