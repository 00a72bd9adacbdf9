/**
 * Holds the admission store against the tables, a page of accounts at a time. It looks twice, so it ignores changes on
 * their way. It reports lasting differences only, and mends them on request.
 */

import type { AccountPlan, ReconcileKeysReply, ReconcileKeysRequest } from '@gateway/contracts/reconcile-api'
import { readStable } from '@gateway/admission/read-stable'
import { compareState, type StateFinding } from '../core/compare-state.ts'
import { extraIn, unitOf } from '../core/plans.ts'
import {
  pageOfAccounts,
  raiseVersionTo,
  readAdmissionState,
  readHeldPlans,
  type RequestedState,
} from '../db/account-state.ts'
import { fillAdmission } from '../fill-admission.ts'
import type { KeysContext } from '../keys-context.ts'
import { revokeKeyById } from './developer-keys.ts'

const ACCOUNTS_AT_A_TIME = 100
/** Longer than a change takes to be announced. */
const ON_ITS_WAY_MS = 1_500

export async function reconcile(
  context: KeysContext,
  { after, repair }: ReconcileKeysRequest,
  onItsWayMs: number = ON_ITS_WAY_MS,
): Promise<ReconcileKeysReply> {
  const accounts = await pageOfAccounts(context.database, after, ACCOUNTS_AT_A_TIME)
  const isLast = accounts.length < ACCOUNTS_AT_A_TIME
  const findings = await readStable(accounts, (some) => look(context, some), onItsWayMs)
  if (repair) for (const finding of findings) await mend(context, finding)
  const still = repair && findings.length > 0 ? await look(context, accounts) : findings
  const left = new Set(still.map(({ id }) => id))
  const drifts = findings.map(({ account, kind, store, truth, id }) => {
    return { account, kind, store, truth, repaired: !left.has(id) }
  })
  return { accounts, plans: await readPlans(context, accounts), drifts, isLast }
}

async function look(context: KeysContext, accounts: readonly string[]): Promise<StateFinding[]> {
  const { admission, database, config } = context
  // First the store: a change that comes in between is newer in the tables, as on its way.
  const held = new Map(
    await Promise.all(accounts.map(async (account) => [account, await admission.inspect(account)] as const)),
  )
  const requested = [...held].map(([account, { window, keys }]): RequestedState => {
    return { account, window, keyHashes: keys.map(({ keyHash }) => Buffer.from(keyHash, 'base64url')) }
  })
  const own = await readAdmissionState(database, requested)
  return [...own].flatMap(([account, { keys, ...facts }]) => {
    return compareState(held.get(account)!, { ...facts, extra: extraIn(config.current.plans, facts) }, keys)
  })
}

/** After the mends: versions may have grown. */
async function readPlans({ database, config }: KeysContext, accounts: readonly string[]): Promise<AccountPlan[]> {
  const held = await readHeldPlans(database, accounts)
  return held.map(({ account, plan, version }) => {
    return { account, unit: unitOf(config.current.plans, plan), planVersion: version }
  })
}

async function mend(context: KeysContext, { account, repair }: StateFinding): Promise<void> {
  switch (repair.kind) {
    case 'fill':
      await raiseVersionTo(context.database, account, repair.version)
      await fillAdmission(context, account)
      return
    case 'deactivate':
      await context.admission.deactivate({ account, keyHash: repair.keyHash, version: repair.version })
      return
    case 'revoke':
      await revokeKeyById(context, { keyId: repair.keyId })
  }
}
