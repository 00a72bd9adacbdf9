/**
 * Admission in Redis: the store that all processes share.
 *
 * Each call is one script on the keys of one account, decided by Redis' own clock. State that a restart, a failover or an emptied
 * store may have lost is requested again (`miss`, `cold`), never silently old. Without a reply within `timeoutMs` a call rejects
 * with `AdmissionUnavailableError`. README.md lists the keys and their expiry.
 */

import { connectTo } from '@gateway/redis/connect'
import type { ScriptConnection } from '@gateway/redis/connection'
import { argumentsOf, portionsByAccount, type Argument } from '@gateway/redis/script'
import { monthOf } from './core/month.ts'
import {
  type Admission,
  AdmissionUnavailableError,
  type EdgeAdmission,
  type IncludedRequest,
  type OwnersAdmission,
  type RunningLease,
} from './port.ts'
import {
  accountKeys,
  admitArguments,
  endOf,
  readAdmitDecision,
  readHeldAccount,
  type ScriptName,
  scripts,
} from './redis/scripts.ts'

const RENEW_AT_ONCE = 500

interface RedisAdmissionOptions {
  /** The address of a server, or of several nodes of a Redis Cluster, separated by commas. */
  url: string
  /** A call without a reply rejects after this time, or after four times as long where it waits behind others. */
  timeoutMs?: number
  /** Receives the number of running requests that were released because nobody renewed them. */
  onLapsed?: (count: number) => void
  /** For tests: stands in for Redis' own clock. */
  now?: () => number
}

/** Resolves when connected, or after two seconds without Redis; then calls reject until it is there. */
export async function openRedisAdmission(options: RedisAdmissionOptions): Promise<Admission> {
  const { url, timeoutMs = 250 } = options
  const connection = await connectTo({
    url,
    timeoutMs,
    store: 'admission',
    Unavailable: AdmissionUnavailableError,
    scripts: Object.values(scripts),
  })
  const store = openStore(connection, options)
  return {
    ...edgeInterface(store),
    ...ownersInterface(store, connection, options.now),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  }
}

interface Store {
  partOf(account: string): string
  /** Runs a script on an account. */
  run(script: ScriptName, account: string, args: Argument[], epoch?: string): Promise<unknown>
  /** The same for scripts that open the account's use: their first figure is how many leases have lapsed. */
  change(script: ScriptName, account: string, args: Argument[], epoch?: string): Promise<unknown[]>
}

function openStore(connection: ScriptConnection, { now, onLapsed }: RedisAdmissionOptions): Store {
  const run: Store['run'] = (script, account, args, epoch) =>
    connection.run(scripts[script], accountKeys(account), [now ? now() : '', ...args], epoch)
  return {
    partOf: (account) => connection.partOf(routingKey(account)),
    run,
    change: async (...call) => {
      const [lapsed, ...reply] = (await run(...call)) as [number, ...unknown[]]
      if (lapsed > 0) onLapsed?.(lapsed)
      return reply
    },
  }
}

function edgeInterface({ run, change, partOf }: Store): EdgeAdmission {
  return {
    partOf,

    admit: async (request) => {
      const reply = await change('admit', request.account, admitArguments(request))
      return readAdmitDecision(reply as Parameters<typeof readAdmitDecision>[0], request.limits)
    },

    finish: async ({ account, ...end }) => {
      await change('finish', account, argumentsOf(scripts.finish, endOf(end)))
    },

    renew: async (leases, leaseMs) => {
      const lost = await Promise.all(
        portionsByAccount(leases, RENEW_AT_ONCE).map(([account, portion]) =>
          change('renew', account, argumentsOf(scripts.renew, { leaseMs }, portion.map(renewalOf))),
        ),
      )
      return lost.flat() as string[]
    },

    authenticate: async ({ account, keyHash }) => {
      const reply = await run('authenticate', account, argumentsOf(scripts.authenticate, { keyHash }))
      const [kind, plan, overage, extra, used] = reply as ['active' | 'deny' | 'miss', string, number, number, number]
      if (kind !== 'active') return { kind }
      return { kind, plan, overage: overage === 1, extra, used: used < 0 ? null : used }
    },
  }
}

function renewalOf({ requestId, worstCharge, window }: RunningLease) {
  return { request: requestId, worstCharge: worstCharge ?? '', window: window ?? '' }
}

/** For the services that own the state: keys and metering. */
function ownersInterface({ run, change }: Store, connection: ScriptConnection, now?: () => number): OwnersAdmission {
  return {
    fill: async ({ account, version, plan, overage, extra, window, moreLater, epoch, keys }) => {
      const flags = { overage: overage ? 1 : 0, moreLater: moreLater ? 1 : 0 }
      const facts = { version, plan, extra, extraWindow: window ?? '', ...flags }
      const states = keys.map((key) => ({ ...key, active: key.active ? 1 : 0 }))
      await run('fill', account, argumentsOf(scripts.fill, facts, states), epoch)
    },

    deactivate: async ({ account, keyHash, version }) => {
      await run('deactivate', account, argumentsOf(scripts.deactivate, { keyHash, version }))
    },

    applyTotal: async ({ account, window, settled, version, included }) => {
      const total = { totalWindow: window, settled, version, makesKnown: 0 }
      await change('settle', account, argumentsOf(scripts.settle, total, included.map(inclusionOf)))
    },

    warm: async ({ account, window, settled, version, epoch }) => {
      const total = { totalWindow: window, settled, version, makesKnown: 1 }
      await change('settle', account, argumentsOf(scripts.settle, total), epoch)
    },

    inspect: async (account) => readHeldAccount(await run('inspect', account, [])),

    recount: async (account) => {
      await change('recount', account, [])
    },

    currentWindow: async (account) => {
      const key = account && routingKey(account)
      const epoch = await connection.epoch(key).catch((error: unknown) => {
        if (key !== undefined) throw error
      })
      const { window, resetsAtMs } = monthOf(now ? now() : await connection.timeMs(key))
      return { window, resetAtMs: resetsAtMs, ...(epoch === undefined ? {} : { epoch }) }
    },
  }
}

function inclusionOf({ requestId, tokens, mayChange }: IncludedRequest) {
  return { request: requestId, tokens: tokens ?? '', mayChange: mayChange ? 1 : 0 }
}

/** Any key of the account: all lie on the same node. */
function routingKey(account: string): string {
  return accountKeys(account)[0]!
}
