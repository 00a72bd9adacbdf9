/**
 * Requests to the metering service over the bus, and the public quota record.
 */

import * as z from 'zod'
import { usageGroupings } from './usage-api.ts'
import { planUnit, planVersion } from './usage.ts'

/** Admission returned COLD: metering writes the window's total into the admission store, then replies. */
export const warmRequest = z.object({
  account: z.string(),
  /** The store lacks the total of this key of a project, too. */
  keyId: z.string().optional(),
  /** The unit of the account's plan from now on; said when a change of plan changes it. */
  unit: planUnit.optional(),
  /** The number of that plan: an older one than the window's changes nothing. */
  planVersion: planVersion.optional(),
})
export const warmReply = z.object({ kind: z.literal('warmed') })
export type WarmRequest = z.infer<typeof warmRequest>
export type WarmReply = z.infer<typeof warmReply>

/** `unit` and `limit` come from the edge, which holds the plan; the ledger knows only the usage. */
export const quotaRequest = z.object({
  account: z.string(),
  unit: planUnit,
  /** Keys of a project, whose own totals the edge needs. */
  keyIds: z.array(z.string()).optional(),
})
export const quotaReply = z.object({
  /** In the plan's smallest unit: milli-tokens or nano-dollars. */
  used: z.int(),
  window: z.string(),
  resetAtMs: z.int(),
  /** One for each of `keyIds`, of the same moment as `used` and in its unit. */
  keys: z.array(z.object({ keyId: z.string(), settled: z.int() })).optional(),
})
export type QuotaRequest = z.infer<typeof quotaRequest>
export type QuotaReply = z.infer<typeof quotaReply>

/** Days are calendar days in UTC, both ends included. */
export const accountUsageRequest = z.object({
  account: z.string(),
  from: z.iso.date(),
  to: z.iso.date(),
  groupBy: z.enum(usageGroupings),
  /** By session or agent: of this session alone. */
  session: z.string().optional(),
})
export type AccountUsageRequest = z.infer<typeof accountUsageRequest>

/** Sums over requests, which may have been charged in either unit. `cachedTokens` are part of `promptTokens`. */
export const usageFigures = z.object({
  requests: z.int(),
  promptTokens: z.int(),
  completionTokens: z.int(),
  cachedTokens: z.int(),
  milliTokens: z.int(),
  nanoUsd: z.int(),
})
export type UsageFigures = z.infer<typeof usageFigures>

/** `name` is the day, the model, the session or the agent. */
const usageGroup = usageFigures.extend({ name: z.string() })
export type UsageGroup = z.infer<typeof usageGroup>

/** Days in order, all others by their cost, most first. */
export const accountUsageReply = z.object({ groups: z.array(usageGroup) })

/** The operator's query: all accounts together, and those that used most. */
export const usageByAccountRequest = z.object({
  from: z.iso.date(),
  to: z.iso.date(),
  atMost: z.int().min(1).max(1_000),
})
export type UsageByAccountRequest = z.infer<typeof usageByAccountRequest>

/** Sums over all accounts may be too large for an exact number; they are rounded then. */
const sum = z.number()
const overallFigures = z.object({
  requests: sum,
  promptTokens: sum,
  completionTokens: sum,
  cachedTokens: sum,
  milliTokens: sum,
  nanoUsd: sum,
})
/** `name` is the account's tag; those that cost most come first. */
export const usageByAccountReply = z.object({
  groups: z.array(overallFigures.extend({ name: z.string() })),
  accounts: z.int(),
  totals: overallFigures,
})
export type UsageByAccountReply = z.infer<typeof usageByAccountReply>

/** A call of the administration API that keys has authorized. */
export const meteringAdministerRequest = z.object({
  /** A key of `operations`. */
  operation: z.string(),
  input: z.record(z.string(), z.unknown()),
})
export type MeteringAdministerRequest = z.infer<typeof meteringAdministerRequest>

export const quotaRecord = z.object({
  object: z.literal('quota'),
  planSlug: z.string(),
  used: z.number(),
  limit: z.number(),
  remaining: z.number(),
  resetAt: z.string(),
  unit: z.string(),
  keyPrefix: z.string(),
  source: z.string(),
})
export type QuotaRecord = z.infer<typeof quotaRecord>

/** Sums of the ledger for an overview: of whole minutes, hours or days of UTC that begin in the range. */
export const overviewRequest = z.object({
  /** In seconds since 1970; `to` is exclusive. */
  from: z.int(),
  to: z.int(),
  /** A minute, an hour or a day. */
  bucketSeconds: z.int().positive(),
  /** Null: the whole organization. */
  account: z.string().nullable(),
  /** The number of accounts to name: those with the greatest charges, and as many with the most requests. */
  atMost: z.int(),
  /** Accounts to name besides. */
  also: z.array(z.string()),
})
export type OverviewRequest = z.infer<typeof overviewRequest>

const ledgerSums = z.object({ requests: sum, milliTokens: sum, nanoUsd: sum })
export type LedgerSums = z.infer<typeof ledgerSums>

/** Figures of one moment. Only buckets, models and accounts with usage are named. */
export const overviewReply = z.object({
  totals: ledgerSums,
  buckets: z.array(ledgerSums.extend({ begins: z.int() })),
  models: z.array(ledgerSums.extend({ name: z.string() })),
  accounts: z.array(ledgerSums.extend({ name: z.string() })),
  /** The number of accounts with usage. */
  allAccounts: z.int(),
})
export type OverviewReply = z.infer<typeof overviewReply>
