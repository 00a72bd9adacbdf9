/**
 * Every call of `client.admin.organization` of the official SDK, read from the SDK itself: a new version brings its new calls to
 * the tests.
 */

import { type Operation } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
import OpenAI from 'openai'
import { findAbsent } from '../../services/edge/src/core/absent-calls.ts'

export interface SdkCall {
  /** As its user writes it behind `client.admin.organization`: `projects.apiKeys.list`. */
  name: string
  method: string
  /** `/v1/organization/projects/{project_id}` */
  path: string
  /** Names of the ids that are arguments of their own, in their order. */
  ids: string[]
  /** Names of the ids among the members of `params`. */
  memberIds: string[]
  takesInput: boolean
}

type Method = (this: object, ...args: unknown[]) => Promise<unknown>
type Resource = Record<string, unknown>

/** The calls, in the order of the SDK. */
export async function listSdkCalls(): Promise<SdkCall[]> {
  let sent: { method: string; path: string } = { method: '', path: '' }
  const client = new OpenAI({
    baseURL: 'http://nowhere.test/v1',
    apiKey: null,
    adminAPIKey: 'none',
    fetch: async (url, init) => {
      sent = {
        method: init?.method ?? 'GET',
        path: decodeURIComponent(new URL(url instanceof Request ? url.url : url).pathname),
      }
      return Response.json({ object: 'list', data: [], has_more: false })
    },
  })
  const calls: SdkCall[] = []
  for (const { name, resource, method } of methodsOf(client.admin.organization as unknown as Resource)) {
    const form = formOf(method)
    const members = Object.fromEntries(form.memberIds.map((id) => [id, `{${id}}`]))
    await method.call(resource, ...form.ids.map((id) => `{${id}}`), ...(form.takesInput ? [members] : []))
    calls.push({ name, ...sent, ...form })
  }
  return calls
}

/** Makes one call on a client. */
export function makeCall(client: OpenAI, call: SdkCall, ids: Record<string, string>, input: object): Promise<unknown> {
  const found = methodsOf(client.admin.organization as unknown as Resource).find(({ name }) => name === call.name)!
  const given = (name: string) => ids[name] ?? 'unknown'
  const members = Object.fromEntries(call.memberIds.map((id) => [id, given(id)]))
  return found.method.call(
    found.resource,
    ...call.ids.map(given),
    ...(call.takesInput ? [{ ...input, ...members }] : []),
  )
}

function methodsOf(resource: Resource, prefix = ''): { name: string; resource: Resource; method: Method }[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
    .filter((name) => name !== 'constructor' && !name.startsWith('_'))
    .map((name) => ({ name: prefix + name, resource, method: resource[name] as Method }))
  const inner = Object.entries(resource)
    .filter(([name, value]) => name !== '_client' && typeof value === 'object' && value !== null)
    .flatMap(([name, value]) => methodsOf(value as Resource, `${prefix}${name}.`))
  return [...own, ...inner]
}

/** From the source of the method: `retrieve(userID, params, options) { const { project_id } = params; …`. */
function formOf(method: Method): Pick<SdkCall, 'ids' | 'memberIds' | 'takesInput'> {
  const source = method.toString()
  const parameters = source.slice(source.indexOf('(') + 1, source.indexOf('{\n')).split(',')
  const names = parameters.map((parameter) => /\w+/.exec(parameter)?.[0] ?? '')
  const members = /const \{ ([^}]*) \} = params/.exec(source)?.[1] ?? ''
  return {
    ids: names.filter((name) => name.endsWith('ID')).map(snakeCase),
    memberIds: members.split(', ').filter((name) => name !== '' && !name.startsWith('...')),
    takesInput: names.some((name) => name === 'params' || name === 'body' || name === 'query'),
  }
}

/** `apiKeyID` is `api_key_id`. */
function snakeCase(name: string): string {
  return name.replace(/ID$/, 'Id').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

export type Fate =
  | { kind: 'row'; name: string; row: Operation }
  | { kind: 'absent'; path: string; instead: string }
  | { kind: 'unknown' }

const form = (method: string, path: string) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`
const ROWS = new Map(
  Object.entries<Operation>(operations).map((entry) => [form(entry[1].method, entry[1].path), entry]),
)

/** The row that serves a call, or the part that does its work here. */
export function fateOf({ method, path }: Pick<SdkCall, 'method' | 'path'>): Fate {
  const entry = ROWS.get(form(method, path))
  if (entry) return { kind: 'row', name: entry[0], row: entry[1] }
  const absent = findAbsent(path)
  return absent === undefined ? { kind: 'unknown' } : { kind: 'absent', ...absent }
}
