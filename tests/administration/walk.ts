/**
 * Makes every call of the official SDK's `client.admin.organization` once, in an order in which each finds its objects.
 */

import OpenAI from 'openai'
import { listSdkCalls, makeCall, type SdkCall } from './sdk-calls.ts'

const EMAIL = { type: 'email', recipients: ['team@example.com'] }
const ALERT = { currency: 'USD', interval: 'month', threshold_amount: 5_000, notification_channel: EMAIL }
const RETENTION = { retention_type: 'zero_data_retention' }

/** Of the calls that need members besides ids. */
const INPUTS: Record<string, (ids: Ids) => object> = {
  'adminAPIKeys.create': () => ({ name: 'Walk' }),
  'dataRetention.update': () => RETENTION,
  'spendAlerts.create': () => ALERT,
  'spendAlerts.update': () => ({ ...ALERT, threshold_amount: 6_000 }),
  'groups.create': () => ({ name: 'Walkers' }),
  'groups.update': () => ({ name: 'Walkers too' }),
  'projects.groups.create': ({ group_id }) => ({ group_id, role: 'member' }),
  'projects.create': () => ({ name: 'Walk', plan: 'payg' }),
  'projects.update': () => ({ name: 'Walked' }),
  'projects.users.create': ({ user_id }) => ({ user_id, role: 'member' }),
  'projects.users.update': () => ({ role: 'owner' }),
  'projects.serviceAccounts.create': () => ({ name: 'nightly' }),
  'projects.serviceAccounts.update': () => ({ name: 'hourly' }),
  'projects.serviceAccounts.apiKeys.create': () => ({ name: 'second', expires_in_seconds: 3_600 }),
  'projects.apiKeys.update': () => ({ expires_in_seconds: 7_200 }),
  'projects.rateLimits.updateRateLimit': () => ({ max_requests_per_1_minute: 5, max_requests_per_1_day: 50 }),
  'projects.modelPermissions.update': () => ({ mode: 'allow_list', model_ids: ['svc-instant'] }),
  'projects.hostedToolPermissions.update': () => ({ web_search: { enabled: true } }),
  'projects.dataRetention.update': () => RETENTION,
  'projects.spendLimit.update': () => ({ currency: 'USD', interval: 'month', threshold_amount: 10_000 }),
  'projects.spendAlerts.create': () => ALERT,
  'projects.spendAlerts.update': () => ({ ...ALERT, threshold_amount: 6_000 }),
}

type Ids = Record<string, string>

export interface Outcome {
  call: SdkCall
  status: number
  /** Of the response. */
  body: unknown
}

/** Objects that nobody creates by a call are listed first. All others are listed once they are there. */
const PHASES = [
  /^projects\.create$/,
  /^(users|groups|roles)\.list$/,
  /^projects\.rateLimits\.list/,
  /create$/,
  /\.list/,
  /update/i,
  /retrieve/,
  /^usage/,
  /apiKeys\.delete$/,
  /^projects\..*delete$/,
  /delete$/,
  /archive$/,
]

/** `token`: an owner's. */
export async function walkSdk(baseURL: string, token: string): Promise<Outcome[]> {
  let last: Omit<Outcome, 'call'> = { status: 0, body: null }
  const client = new OpenAI({
    baseURL,
    apiKey: null,
    adminAPIKey: token,
    maxRetries: 0,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      last = { status: response.status, body: await response.clone().json() }
      return response
    },
  })
  const calls = await listSdkCalls()
  const left = new Set(calls)
  const ids: Ids = {}
  const own = new Map<string, string>()
  const outcomes: Outcome[] = []
  for (const phase of [...PHASES, /^/]) {
    for (const call of [...left].filter(({ name }) => phase.test(name))) {
      left.delete(call)
      const resource = resourceOf(call)
      const [ownId = ''] = call.ids
      const isOfParent = ids[ownId] !== undefined && ID_NAMES[resource] !== ownId
      const known = isOfParent ? undefined : own.get(resource)
      const input = INPUTS[call.name]?.(ids) ?? (call.name.startsWith('usage.') ? { start_time: 1_700_000_000 } : {})
      // A failure is an outcome, too: the test compares its status.
      await makeCall(client, call, { ...ids, ...(known && { [ownId]: known }) }, input).catch(() => undefined)
      outcomes.push({ call, ...last })
      const id = idIn(last.body)
      if (id === undefined || last.status !== 200 || /delete|archive/.test(call.name)) continue
      if (call.name.endsWith('create') || !own.has(resource)) own.set(resource, id)
      ids[ID_NAMES[resource] ?? ''] ??= id
    }
  }
  return outcomes
}

/** Names under which other resources take an id of this one. */
const ID_NAMES: Record<string, string> = {
  projects: 'project_id',
  users: 'user_id',
  groups: 'group_id',
  'projects.serviceAccounts': 'service_account_id',
  roles: 'role_id',
}

function resourceOf({ name }: SdkCall): string {
  return name.slice(0, name.lastIndexOf('.'))
}

function idIn(body: unknown): string | undefined {
  const { id, user_id, data } = body as { id?: string; user_id?: string; data?: unknown[] }
  return id ?? user_id ?? (data?.[0] === undefined ? undefined : idIn(data[0]))
}
