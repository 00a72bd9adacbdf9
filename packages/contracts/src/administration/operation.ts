/**
 * One call of the administration API: its HTTP form, who may make it, and its input and output. The edge's routes, the handlers of
 * the service that serves it, the API reference and the page for administrators follow from such rows.
 *
 * Names and shapes of `/v1/organization/*` are those of OpenAI's Administration API as its SDK types them (openai 7.55).
 */

import * as z from 'zod'

/**
 * The least that a caller needs.
 * - `reader`, `owner`: a role in the organization. An admin key has the role of an owner.
 * - `project reader`: a member of the project, or an organization's reader.
 * - `project member`: a member of the project, or an organization's owner.
 * - `project owner`: an owner of the project or of the organization.
 * - `reader or project owner`: where the query names a `project`, one of its owners or an organization's reader; else the latter.
 * - `signed in`: anybody who signed in; the call shows a caller without a role only the caller's own.
 */
export type Access =
  | 'reader'
  | 'owner'
  | 'project reader'
  | 'project member'
  | 'project owner'
  | 'reader or project owner'
  | 'signed in'

export interface Operation {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** `{name}` is a string of the input. */
  path: string
  /** The service that serves it. */
  service: 'keys' | 'metering' | 'router' | 'edge'
  access: Access
  /** Query and body, by name. */
  query: z.ZodObject
  body: z.ZodObject
  /** The body is YAML itself, not JSON; the input has its text as `yaml`. */
  isYaml?: true
  /** Query or body name a thing that may not exist. */
  namesThing?: true
  output: z.ZodType
  /** For readers: the effect of the call. */
  about: string
  /** For readers: how it differs from OpenAI's. */
  deviation?: string
}

export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never

/** The members of path, query and body in one object. */
export type InputOf<Row extends Operation> = Record<NamesIn<Row['path']>, string> &
  MembersOf<Row['query']> &
  MembersOf<Row['body']>
/** The type of an empty strict object forbids the members of the others. */
type MembersOf<Schema extends z.ZodObject> = keyof Schema['shape'] extends never ? unknown : z.output<Schema>
export type OutputOf<Row extends Operation> = z.input<Row['output']>

export const nothing = z.strictObject({})

/** Seconds since 1970. */
export const unixTime = z.int()

/** A parameter of a query: `true` or `false`, and other words of both. */
export const flag = z.stringbool().meta({ type: 'boolean' })

const MOST_ROWS = 100
const USUAL_ROWS = 20

/** Pages by the id of an item: no write between two pages moves an item. */
export const cursor = {
  after: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(MOST_ROWS).default(USUAL_ROWS),
}
export const order = { order: z.enum(['asc', 'desc']).optional() }
export const before = { before: z.string().optional() }

/** `first_id` and `last_id`: null on an empty page. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
}

/** Lists of groups and roles. `next`: the next page's `after`; null on the last one. */
export function nextListOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next: z.string().nullable(),
  })
}

export function deleted<Name extends string>(object: Name) {
  return z.object({ id: z.string(), object: z.literal(object), deleted: z.literal(true) })
}

/** A name that people give. */
export const givenName = z.string().trim().min(1).regex(/\S/).max(256)
