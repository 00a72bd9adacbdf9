/**
 * Admission inside one process: for standalone, and for an edge that has lost the shared store.
 *
 * Keeps the promises of `port.ts` for the callers of this process and forgets everything with it. Never unavailable.
 * Every call is decided in one turn of the event loop, so calls cannot come between one's check and its writing.
 */

import { closeAccount, deactivate, fill, NO_STATE, keyState, type AccountState } from './core/account-state.ts'
import { admit } from './core/admit.ts'
import { heldAccount } from './core/held-account.ts'
import { keyLimits } from './core/limits.ts'
import { DAY_MS, monthOf } from './core/month.ts'
import { refilled, waitForFull } from './core/rates.ts'
import { NOT_REPORTED, type RequestRecord, type RunningRecord } from './core/records.ts'
import {
  ended,
  included,
  inWindow,
  lapsed,
  recounted,
  unused,
  withoutKeyTotal,
  withRecord,
  withTotal,
  type Remains,
  type Use,
} from './core/use.ts'
import type { Admission, EdgeAdmission, OwnersAdmission, RequestEnd, RunningLease } from './port.ts'

/** State untouched for this time is deleted; the store requests it again when needed. */
const IDLE_MS = DAY_MS
/** A process has one incarnation, and its memory lasts as long. */
const EPOCH = 'memory'

interface MemoryAdmissionOptions {
  now?: () => number
  /** Receives the number of running requests that were released because nobody renewed them. */
  onLapsed?: (count: number) => void
}

interface Account {
  state: AccountState
  use: Use
  records: Map<string, RequestRecord>
  /** No lease lapses before, and nothing that is over is forgotten. */
  nextLapseMs: number
  touchedAtMs: number
}

export function openMemoryAdmission({ now = Date.now, onLapsed = () => {} }: MemoryAdmissionOptions = {}): Admission {
  const accounts = openAccounts(onLapsed)
  return {
    ...edgeInterface(accounts, now),
    ...ownersInterface(accounts, now),
    [Symbol.asyncDispose]: async () => {},
  }
}

type Accounts = ReturnType<typeof openAccounts>

function edgeInterface(accounts: Accounts, now: () => number): EdgeAdmission {
  return {
    partOf: () => '',

    admit: async (request) => {
      const nowMs = now()
      const account = accounts.at(request.account, nowMs)
      for (const end of request.ends ?? []) endRequest(account, end, nowMs)
      const { state, use, records } = account
      const admission = admit({ state, use, held: records.get(request.requestId) }, request, nowMs)
      account.use = admission.use
      if (admission.record) hold(account, request.requestId, admission.record)
      return admission.decision
    },

    finish: async (end) => {
      const nowMs = now()
      endRequest(accounts.at(end.account, nowMs), end, nowMs)
    },

    renew: async (leases, leaseMs) => {
      const nowMs = now()
      const kept = (lease: RunningLease) => renewLease(accounts.at(lease.account, nowMs), lease, nowMs + leaseMs)
      return leases.filter((lease) => !kept(lease)).map((lease) => lease.requestId)
    },

    authenticate: async ({ account: name, keyHash }) => {
      const nowMs = now()
      const { state, use } = accounts.at(name, nowMs)
      const key = keyState(state, keyHash, { window: use.window, nowMs })
      if (key.kind === 'dead') return { kind: 'deny' }
      if (key.kind === 'unknown') return { kind: 'miss' }
      const { plan, overage, extra } = key.plan
      const used = use.known ? use.settled + use.ended : null
      const project = key.project && { hardLimit: key.project.facts.hardLimit, policy: key.project.policy }
      return { kind: 'active', plan, overage, extra, used, ...(project && { project }) }
    },
  }
}

/** For the services that own the state: keys and metering. */
function ownersInterface(accounts: Accounts, now: () => number): OwnersAdmission {
  return {
    fill: async ({ account: name, keys, project, version, plan, overage, extra, window, moreLater = false }) => {
      const nowMs = now()
      const account = accounts.at(name, nowMs)
      const isLate = window !== undefined && window < account.use.window
      const held = { version, plan, overage, extra, window: isLate ? '' : (window ?? account.use.window), moreLater }
      const before = account.state
      account.state = fill(before, { plan: held, project, keys }, nowMs)
      account.use = withoutTotals(account, before)
    },

    closeAccount: async ({ account: name, version }) => {
      const nowMs = now()
      const account = accounts.at(name, nowMs)
      account.state = closeAccount(account.state, version, nowMs)
    },

    deactivate: async (key) => {
      const nowMs = now()
      const account = accounts.at(key.account, nowMs)
      account.state = deactivate(account.state, key, nowMs)
    },

    applyTotal: async (total) => {
      const nowMs = now()
      const account = accounts.at(total.account, nowMs)
      const { version } = total
      for (const { requestId, ...reported } of total.included) {
        const record = account.records.get(requestId)
        if (record) keepWhatRemains(account, requestId, included(account.use, record, { ...reported, version }, nowMs))
      }
      account.use = withTotal(account.use, total, account.records.values(), { isRequested: false })
    },

    warm: async (total) => {
      const account = accounts.at(total.account, now())
      account.use = withTotal(account.use, total, account.records.values(), { isRequested: true })
    },

    inspect: async (name) => heldAccount(accounts.peek(name), now()),

    recount: async (name) => {
      if (!accounts.peek(name)) return
      const account = accounts.at(name, now())
      account.use = recounted(account.use, account.records.values())
    },

    currentWindow: async () => {
      const { window, resetsAtMs } = monthOf(now())
      return { window, resetAtMs: resetsAtMs, epoch: EPOCH }
    },
  }
}

/** The accounts, those touched last at the end. */
function openAccounts(onLapsed: (count: number) => void) {
  const accounts = new Map<string, Account>()

  const forgetIdle = (nowMs: number): void => {
    for (const [name, account] of accounts) {
      if (account.touchedAtMs > nowMs - IDLE_MS) return
      accounts.delete(name)
      if (!mayBeForgotten(account, nowMs)) accounts.set(name, { ...account, touchedAtMs: nowMs })
    }
  }

  return {
    /** The account as it was left. */
    peek: (name: string): Account | undefined => accounts.get(name),

    /** The account as of now: in the present window, with lapsed leases released. */
    at(name: string, nowMs: number): Account {
      forgetIdle(nowMs)
      const account = accounts.get(name) ?? {
        state: NO_STATE,
        use: unused(nowMs),
        records: new Map<string, RequestRecord>(),
        nextLapseMs: Number.POSITIVE_INFINITY,
        touchedAtMs: nowMs,
      }
      accounts.delete(name)
      accounts.set(name, account)
      account.touchedAtMs = nowMs
      enterWindow(account, nowMs)
      const lapsed = releaseLapsed(account, nowMs)
      if (lapsed > 0) onLapsed(lapsed)
      return account
    },
  }
}

/** A key that has lost its limits is no longer counted. */
function withoutTotals({ state, use }: Account, before: AccountState): Use {
  if (use.meters.size === 0) return use
  const filled = [...state.keys].filter(([keyHash, key]) => before.keys.get(keyHash) !== key)
  return filled.reduce((after, [, { limits }]) => {
    return limits && !keyLimits(limits) ? withoutKeyTotal(after, limits.keyId) : after
  }, use)
}

/** A pending charge stands until the ledger includes it or its month is over; a bucket until it is full. */
function mayBeForgotten({ use, records }: Account, nowMs: number): boolean {
  const isPending = records.values().some(({ state }) => state !== 'over')
  if (isPending && use.window === monthOf(nowMs).window) return false
  return [use, ...use.meters.values()].every(
    ({ bucket }) => bucket === null || waitForFull(refilled(bucket, bucket.perMinute, nowMs)) === 0,
  )
}

function enterWindow(account: Account, nowMs: number): void {
  const { window } = monthOf(nowMs)
  if (account.use.window === window) return
  for (const [requestId, record] of account.records) {
    if (record.state === 'ended' && record.window !== window) account.records.delete(requestId)
  }
  account.use = inWindow(account.use, window, account.records.values(), nowMs)
}

/** Gives up running requests that nobody renewed, and forgets those long over. Returns how many were given up. */
function releaseLapsed(account: Account, nowMs: number): number {
  if (account.nextLapseMs > nowMs) return 0
  let released = 0
  account.nextLapseMs = Number.POSITIVE_INFINITY
  for (const [requestId, record] of account.records) {
    if (goesAtMs(record) > nowMs) account.nextLapseMs = Math.min(account.nextLapseMs, goesAtMs(record))
    else if (record.state !== 'running') account.records.delete(requestId)
    else {
      keepWhatRemains(account, requestId, lapsed(account.use, record, nowMs))
      released++
    }
  }
  return released
}

function goesAtMs(record: RequestRecord): number {
  if (record.state === 'running') return record.lapsesAtMs
  return record.state === 'over' ? record.forgottenAtMs : Number.POSITIVE_INFINITY
}

function endRequest(account: Account, end: RequestEnd, nowMs: number): void {
  const record = account.records.get(end.requestId)
  if (record) keepWhatRemains(account, end.requestId, ended(account.use, record, end, nowMs))
}

function keepWhatRemains(account: Account, requestId: string, { use, record }: Remains): void {
  account.use = use
  if (record) hold(account, requestId, record)
  else account.records.delete(requestId)
}

function hold(account: Account, requestId: string, record: RequestRecord): void {
  account.records.set(requestId, record)
  account.nextLapseMs = Math.min(account.nextLapseMs, goesAtMs(record))
}

/** Says whether the request is held now. */
function renewLease(account: Account, lease: RunningLease, lapsesAtMs: number): boolean {
  const record = account.records.get(lease.requestId)
  if (record?.state === 'running') {
    hold(account, lease.requestId, { ...record, lapsesAtMs })
    return true
  }
  // A request that has ended, or that the ledger includes, is not held again.
  const mayBeHeld = !record || (record.state === 'over' && record.version === NOT_REPORTED)
  if (!mayBeHeld || lease.worstCharge === undefined) return false
  const window = lease.window ?? account.use.window
  const { tokens, keyId, inBuckets } = record ?? { tokens: null, keyId: lease.keyId ?? null, inBuckets: [] }
  const amount = lease.worstCharge
  const again: RunningRecord = { state: 'running', window, amount, tokens, keyId, inBuckets, lapsesAtMs }
  hold(account, lease.requestId, again)
  account.use = withRecord(account.use, again)
  return true
}
