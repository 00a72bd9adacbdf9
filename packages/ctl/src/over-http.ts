/**
 * Administration calls over HTTP, with an admin key. A refusal is the gateway's own sentence.
 */

import type { Operation } from '@gateway/contracts/administration/operation'
import { type OperationName, operations, type Output } from '@gateway/contracts/administration/operations'
import { UsageError } from '@gateway/service/report-fatal'

/** A call of the administration API; `input`: the members of its path, query and body, as a client writes them. */
export type Administer = <Name extends OperationName>(
  operation: Name,
  input: Record<string, unknown>,
) => Promise<Output<Name>>

/** The gateway's own sentence, and the code of its error. */
export class Refusal extends UsageError {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const TIMEOUT_MS = 15_000

/** `base`: the gateway's address, with or without `/v1`. */
export function administerOverHttp(base: string, adminKey: string | undefined): Administer {
  const root = rootOf(base)
  if (!adminKey) {
    throw new UsageError(
      'set GATEWAY_ADMIN_KEY, or --admin-key before the command; `ctl admin-keys create` makes the first',
    )
  }
  return async (operation, input) => {
    const row: Operation = operations[operation]
    const response = await send(root, row, input, adminKey)
    const body: unknown = await response.json().catch(() => null)
    if (!response.ok) throw refusalOf(body) ?? new UsageError(`${root} responded with status ${response.status}`)
    const output = row.output.safeParse(body)
    if (output.success) return output.data as never
    throw new UsageError(`${root} is no model gateway, or one of another version: ${output.error.issues[0]!.message}`)
  }
}

function rootOf(base: string): string {
  const url = URL.canParse(base) ? new URL(base) : null
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url.href.replace(/\/(?:v1\/?)?$/, '')
  throw new UsageError(`--url is an address such as https://gateway.example, not ${JSON.stringify(base)}`)
}

async function send(root: string, row: Operation, input: Record<string, unknown>, key: string): Promise<Response> {
  const { path, query, body } = requestOf(row, input)
  try {
    return await fetch(`${root}${path}${query}`, {
      method: row.method,
      headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': body.type }) },
      ...(body && { body: body.text }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (cause) {
    const hint = row.method === 'GET' ? '' : '; the change may hold all the same'
    throw new UsageError(`${root} does not respond${hint}: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

/** Each member of the input where the row has it. */
function requestOf(row: Operation, input: Record<string, unknown>) {
  const given = Object.entries(input).filter(([, value]) => value !== undefined)
  const of = (shape: object): [string, unknown][] => given.filter(([name]) => Object.hasOwn(shape, name))
  const query = new URLSearchParams(
    of(row.query.shape).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return {
    path: row.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name]))),
    query: query === '' ? '' : `?${query}`,
    body: bodyOf(row, Object.fromEntries(of(row.body.shape))),
  }
}

function bodyOf({ isYaml }: Operation, members: Record<string, unknown>): { type: string; text: string } | null {
  if (isYaml) return { type: 'application/yaml', text: String(members['yaml']) }
  if (Object.keys(members).length === 0) return null
  return { type: 'application/json', text: JSON.stringify(members) }
}

function refusalOf(body: unknown): Refusal | null {
  const { error } = (body ?? {}) as { error?: string | { message?: string; code?: string } }
  if (typeof error === 'string') return new Refusal('', error)
  return error?.message === undefined ? null : new Refusal(error.code ?? '', error.message)
}
