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
import { raiseKeyVersionTo } from '../db/project-keys.ts'
import { type Append, openRepairLog, repaired } from './audit-repairs.ts'
import type { AuditEntry } from '../core/audit-entry.ts'
import { fillAdmission } from '../fill-admission.ts'
import type { KeysContext } from '../keys-context.ts'
import { ended, revokeById } from '../handlers/developer-keys.ts'

const ACCOUNTS_AT_A_TIME = 100
/** Longer than a change takes to be announced. */
const ON_ITS_WAY_MS = 1_500

export async function reconcile(
  context: KeysContext,
  { after, repair, by }: ReconcileKeysRequest,
  onItsWayMs: number = ON_ITS_WAY_MS,
): Promise<ReconcileKeysReply> {
  const append = repair ? await openRepairLog(context, by) : null
  const accounts = await pageOfAccounts(context.database, after, ACCOUNTS_AT_A_TIME)
  const isLast = accounts.length < ACCOUNTS_AT_A_TIME
  const findings = await readStable(accounts, (some) => look(context, some), onItsWayMs)
  if (append) for (const finding of findings) await mend(context, finding, append)
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

/** Tables and audit log first, the store after the commit. An interrupted repair is found again. */
async function mend(context: KeysContext, finding: StateFinding, append: Append): Promise<void> {
  const { account, repair } = finding
  const { database, admission } = context
  switch (repair.kind) {
    case 'fill':
      await database.transaction().execute(async (transaction) => {
        await raiseVersionTo(transaction, account, repair.version)
        await append(transaction, [repaired(finding)])
      })
      await fillAdmission(context, account)
      return
    case 'limits':
      await database.transaction().execute(async (transaction) => {
        await raiseVersionTo(transaction, account, repair.version)
        await raiseKeyVersionTo(transaction, repair.keyId, repair.version)
        await append(transaction, [repaired(finding)])
      })
      await fillAdmission(context, account, [Buffer.from(repair.keyHash, 'base64url')])
      return
    case 'deactivate':
      await database.transaction().execute((transaction) => append(transaction, [repaired(finding)]))
      await admission.deactivate({ account, keyHash: repair.keyHash, version: repair.version })
      return
    case 'revoke':
      await endKey(context, finding, repair.keyId, append)
  }
}

async function endKey(context: KeysContext, finding: StateFinding, keyId: string, append: Append): Promise<void> {
  const change = await context.urgent.transaction().execute(async (transaction) => {
    const entries: AuditEntry[] = [repaired(finding)]
    const revoked = await revokeById(transaction, keyId, async (key) => void entries.push(ended(key)))
    await append(transaction, entries)
    return revoked
  })
  if (change) await context.changes.announce(change)
}
