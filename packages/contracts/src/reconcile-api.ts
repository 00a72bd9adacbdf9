/**
 * The operator compares the admission store with the owners of the state: keys with its tables, metering with the
 * ledger. It goes page by page: keys names the accounts, and metering checks the same ones.
 */

import * as z from 'zod'
import { administrationCredential, callOrigin } from './administration/envelope.ts'
import { openEnum } from './open-enum.ts'
import { planUnit, planVersion } from './usage.ts'

/**
 * - `account`: plan, overage or top-ups
 * - `key`: whether a key is alive
 * - `total`: the settled total of the month
 * - `pending`: a sum that is not that of its requests, or an ended request that the ledger has already
 * - `lease`: a running request whose lease is over or gone
 * - `unit`: the month's total is in another unit than the account's plan
 * - `unreported`: a request that ended long ago and that the ledger does not have
 */
const driftKinds = ['account', 'key', 'total', 'pending', 'lease', 'unit', 'unreported'] as const

const difference = {
  account: z.string(),
  kind: openEnum(driftKinds),
  /** In words: the store's state, and the true one. */
  store: z.string(),
  truth: z.string(),
}
export const drift = z.object({ ...difference, repaired: z.boolean() })
export type Drift = z.infer<typeof drift>

/** For the audit log: keys proves the credential again. The command line of release 0.1.0 names nobody. */
const repairer = z.object({ credential: administrationCredential, origin: callOrigin })
export type Repairer = z.infer<typeof repairer>
const by = repairer.optional()

/** `after`: the last account of the page before; null for the first page. */
export const reconcileKeysRequest = z.object({ after: z.string().nullable(), repair: z.boolean(), by })
/** The unit of an account's plan. */
const accountPlan = z.object({ account: z.string(), unit: planUnit, planVersion })
export type AccountPlan = z.infer<typeof accountPlan>

export const reconcileKeysReply = z.object({
  accounts: z.array(z.string()),
  plans: z.array(accountPlan).default([]),
  drifts: z.array(drift),
  isLast: z.boolean(),
})
export type ReconcileKeysRequest = z.infer<typeof reconcileKeysRequest>
export type ReconcileKeysReply = z.infer<typeof reconcileKeysReply>

export const reconcileTotalsRequest = z.object({
  accounts: z.array(z.string()),
  /** The plans that keys has just reported; the unit of any other account is not checked. */
  plans: z.array(accountPlan).default([]),
  repair: z.boolean(),
  by,
})
export const reconcileTotalsReply = z.object({ drifts: z.array(drift) })
export type ReconcileTotalsRequest = z.infer<typeof reconcileTotalsRequest>
export type ReconcileTotalsReply = z.infer<typeof reconcileTotalsReply>

/** The repairs that metering is about to make. It makes none of them without the reply. */
const repair = z.object(difference)
export type Repair = z.infer<typeof repair>
export const noteRepairsRequest = z.object({ repairs: z.array(repair), by })
export const noteRepairsReply = z.object({ kind: z.literal('noted') })
export type NoteRepairsRequest = z.infer<typeof noteRepairsRequest>
export type NoteRepairsReply = z.infer<typeof noteRepairsReply>
