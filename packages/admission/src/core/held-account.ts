/**
 * The held state of an account, in the types of the port: only the part that admission would use now.
 */

import type { HeldAccount } from '../held-account.ts'
import { presentPlan, type AccountState } from './account-state.ts'
import { KEY_METER } from './meter.ts'
import { monthOf } from './month.ts'
import type { RequestRecord } from './records.ts'
import type { Use } from './use.ts'

interface KeptAccount {
  state: AccountState
  use: Use
  records: ReadonlyMap<string, RequestRecord>
}

export function heldAccount(kept: KeptAccount | undefined, nowMs: number): HeldAccount {
  const { window } = monthOf(nowMs)
  const plan = kept ? presentPlan(kept.state, window) : null
  const use = kept?.use.window === window ? kept.use : null
  const requests = use === null ? [] : [...kept!.records].filter(([, record]) => record.window === window)
  return {
    window,
    facts: plan && { version: plan.version, plan: plan.plan, overage: plan.overage, extra: plan.extra },
    keys: [...(kept?.state.keys ?? [])].map(([keyHash, { version, active }]) => ({ keyHash, version, active })),
    total: use?.known ? { settled: use.settled, version: use.version } : null,
    running: use?.running ?? 0,
    ended: use?.ended ?? 0,
    keyTotals: [...(use?.meters ?? [])].flatMap(([name, { known, settled, version, running, ended }]) => {
      if (!known) return []
      return { keyId: name.slice(KEY_METER.length), settled, version, running, ended }
    }),
    requests: requests.flatMap(([requestId, record]) => {
      if (record.state === 'over') return []
      const lapsed = record.state === 'running' && record.lapsesAtMs <= nowMs
      return { requestId, state: record.state, amount: record.amount, lapsed, keyId: record.keyId }
    }),
  }
}
