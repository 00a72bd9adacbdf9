/**
 * Metering reports the totals of accounts to keys. Keys publishes an event for operators when an account passes 80 %
 * and 100 % of its allowance.
 */

import * as z from 'zod'
import { openEnum } from './open-enum.ts'
import { planUnit } from './usage.ts'

/** Totals of the ledger, in both units: only keys knows which one the account's plan counts in. */
export const recordQuotaStatusRequest = z.object({
  totals: z.array(
    z.object({
      account: z.string(),
      window: z.string(),
      milliTokens: z.int(),
      nanoUsd: z.int(),
      /** Of two totals the later version stands. Left out by metering of a former release. */
      version: z.int().min(0).optional(),
    }),
  ),
})
export const recordQuotaStatusReply = z.object({ kind: z.literal('noted') })
export type RecordQuotaStatusRequest = z.infer<typeof recordQuotaStatusRequest>
export type RecordQuotaStatusReply = z.infer<typeof recordQuotaStatusReply>

/**
 * One for each account, window and threshold, however the allowance moves afterwards. Published at least once; a
 * repetition has the same `id`.
 */
export const accountThreshold = z.object({
  v: z.literal(1),
  id: z.string(),
  account: z.string(),
  kind: openEnum(['developer', 'guest', 'project']),
  issuer: z.string().nullable(),
  subject: z.string().nullable(),
  /** Calendar month in UTC: `2026-11`. */
  window: z.string(),
  percent: z.int(),
  plan: z.string(),
  unit: planUnit,
  /** In `unit`, as they were then. `limit` has the top-ups of the window, and is never above a project's hard limit. */
  used: z.number(),
  limit: z.number(),
  passedAt: z.iso.datetime(),
})
export type AccountThreshold = z.infer<typeof accountThreshold>
