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
  admitKeys,
  endOf,
  type KeyStateReply,
  keyTotalsArgument,
  limitsArgument,
  projectArgument,
  readAdmitDecision,
  readHeldAccount,
  readKeyState,
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
  /** Runs a script on an account, or on its keys. */
  run(script: ScriptName, account: string | string[], args: Argument[], epoch?: string): Promise<unknown>
  /** The same for scripts that open the account's use: their first figure is how many leases have lapsed. */
  change(script: ScriptName, account: string | string[], args: Argument[], epoch?: string): Promise<unknown[]>
}

function openStore(connection: ScriptConnection, { now, onLapsed }: RedisAdmissionOptions): Store {
  const run: Store['run'] = (script, account, args, epoch) =>
    connection.run(
      scripts[script],
      typeof account === 'string' ? accountKeys(account) : account,
      [now ? now() : '', ...args],
      epoch,
    )
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
      const reply = await change('admit', admitKeys(request), admitArguments(request))
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
      return readKeyState(reply as KeyStateReply)
    },
  }
}

function renewalOf({ requestId, worstCharge, window, keyId }: RunningLease) {
  return { request: requestId, worstCharge: worstCharge ?? '', window: window ?? '', keyId: keyId ?? '' }
}

/** For the services that own the state: keys and metering. */
function ownersInterface({ run, change }: Store, connection: ScriptConnection, now?: () => number): OwnersAdmission {
  return {
    fill: async ({ account, version, plan, overage, extra, window, moreLater, epoch, project, keys }) => {
      const flags = { overage: overage ? 1 : 0, moreLater: moreLater ? 1 : 0 }
      const projectFacts = projectArgument(project)
      const facts = { version, plan, extra, extraWindow: window ?? '', projectFacts, ...flags }
      const states = keys.map((key) => ({ ...key, active: key.active ? 1 : 0, limits: limitsArgument(key.limits) }))
      await run('fill', account, argumentsOf(scripts.fill, facts, states), epoch)
    },

    deactivate: async ({ account, keyHash, version }) => {
      await run('deactivate', account, argumentsOf(scripts.deactivate, { keyHash, version }))
    },

    closeAccount: async ({ account, version }) => {
      await run('close-account', account, argumentsOf(scripts['close-account'], { version }))
    },

    applyTotal: async ({ account, window, settled, version, included, keys }) => {
      const total = { totalWindow: window, settled, version, makesKnown: 0, keyTotals: keyTotalsArgument(keys) }
      await change('settle', account, argumentsOf(scripts.settle, total, included.map(inclusionOf)))
    },

    warm: async ({ account, window, settled, version, epoch, keys }) => {
      const total = { totalWindow: window, settled, version, makesKnown: 1, keyTotals: keyTotalsArgument(keys) }
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
