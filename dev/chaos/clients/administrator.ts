/**
 * An administrator calls `/v1/organization` and keeps a log of all calls. The audit log names each call by its `user-agent`, so that a
 * call without a response can be found there, too. Never throws.
 */

import { setTimeout as sleep } from 'node:timers/promises'

/** The calls, and the types of their rows in the audit log. */
export const AUDITED_AS = {
  'projects.create': ['project.created'],
  'projects.archive': ['project.archived'],
  'serviceAccounts.create': ['service_account.created', 'api_key.created'],
  'apiKeys.create': ['api_key.created'],
  'apiKeys.patch': ['api_key.updated'],
  'apiKeys.rotate': ['api_key.updated'],
  'apiKeys.delete': ['api_key.deleted'],
  'rateLimits.update': ['rate_limit.updated'],
  'modelPermissions.update': ['project.updated'],
  'spendLimit.update': ['project.updated'],
} as const
export type AuditedCall = keyof typeof AUDITED_AS

const ROUTES: Record<AuditedCall, readonly [method: string, path: string]> = {
  'projects.create': ['POST', ''],
  'projects.archive': ['POST', '/{project}/archive'],
  'serviceAccounts.create': ['POST', '/{project}/service_accounts'],
  'apiKeys.create': ['POST', '/{project}/api_keys'],
  'apiKeys.patch': ['PATCH', '/{project}/api_keys/{key}'],
  'apiKeys.rotate': ['POST', '/{project}/api_keys/{key}/rotate'],
  'apiKeys.delete': ['DELETE', '/{project}/api_keys/{key}'],
  'rateLimits.update': ['POST', '/{project}/rate_limits/{limit}'],
  'modelPermissions.update': ['POST', '/{project}/model_permissions'],
  'spendLimit.update': ['POST', '/{project}/spend_limit'],
}

export interface AdministrationCall {
  /** Its `user-agent`. */
  agent: string
  operation: AuditedCall
  /** The first call of a change that its repetitions make no second time. Null: each call is a change of its own. */
  change: string | null
  sentAtMs: number
  endedAtMs: number
  /** Null: no response came. */
  status: number | null
  requestId: string | null
  detail: string
}

export interface Named {
  project?: string
  key?: string
  limit?: string
}

export type Members = Record<string, unknown>

export interface Administrator {
  readonly calls: readonly AdministrationCall[]
  /** Repeats the call until it is confirmed. */
  insist(operation: AuditedCall, named: Named, body?: object): Promise<Members>
}

const GIVE_UP_MS = 20_000
const AGAIN_AFTER_MS = 500
const CONFIRMED_WITHIN_MS = 120_000
/** A repetition of the others makes something new. */
const IDEMPOTENT: readonly AuditedCall[] = [
  'projects.archive',
  'apiKeys.patch',
  'apiKeys.delete',
  'rateLimits.update',
  'modelPermissions.update',
  'spendLimit.update',
]

export function openAdministrator(urls: readonly string[], adminKey: string): Administrator {
  const calls: AdministrationCall[] = []
  let sent = 0

  const nextAgent = () => `chaos/${++sent}`

  /** Null: it was not confirmed. */
  async function call(
    operation: AuditedCall,
    { named, body, agent, first }: { named: Named; body: object | undefined; agent: string; first: string },
  ): Promise<Members | null> {
    const [method, path] = ROUTES[operation]
    const change = IDEMPOTENT.includes(operation) ? first : null
    const logged: AdministrationCall = {
      ...{ agent, operation, change, sentAtMs: Date.now(), endedAtMs: 0 },
      ...{ status: null, requestId: null, detail: '' },
    }
    const place = path.replaceAll(/\{(\w+)\}/g, (_, name: keyof Named) => named[name] ?? '')
    try {
      const response = await fetch(`${urls[sent % urls.length]}/v1/organization/projects${place}`, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json', 'user-agent': agent },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(GIVE_UP_MS),
      })
      logged.requestId = response.headers.get('x-request-id')
      logged.detail = await response.text()
      logged.status = response.status
    } catch (error) {
      logged.detail = String(error)
    }
    logged.endedAtMs = Date.now()
    const isConfirmed = logged.status === 200
    const reply = isConfirmed ? (JSON.parse(logged.detail) as Members) : null
    calls.push({ ...logged, detail: isConfirmed ? '' : logged.detail.slice(0, 300) })
    return reply
  }

  return {
    calls,
    async insist(operation, named, body) {
      const giveUpAtMs = Date.now() + CONFIRMED_WITHIN_MS
      const first = nextAgent()
      for (let agent = first; Date.now() < giveUpAtMs; agent = nextAgent()) {
        const reply = await call(operation, { named, body, agent, first })
        if (reply) return reply
        await sleep(AGAIN_AFTER_MS)
      }
      throw new Error(`${operation} was not confirmed for ${CONFIRMED_WITHIN_MS / 1_000} s`)
    },
  }
}
