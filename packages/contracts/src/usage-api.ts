/**
 * `GET /v1/usage`: an account's usage over time, for its owner. A decision of this project; the contract names no such
 * endpoint.
 *
 * Callers send an API key or a sign-in token. Metering reads the ledger's daily rollups, so its totals are those of the
 * bill. Days are calendar days in UTC, both ends included. An account that changed between plans of tokens and of US
 * dollars has both units, so a row has two charges.
 */

import * as z from 'zod'
import { GatewayError } from './errors.ts'

export const usageGroupings = ['day', 'model', 'session', 'agent'] as const

/** A query lists so many sessions or agents, those that cost most. */
export const MOST_SESSIONS = 1_000

/** At most this many days in one query. */
export const longestUsageSpanDays = 366

/** `from` defaults to the first day of the current month, `to` to today. */
export const usageQuery = z.object({
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  group_by: z.enum(usageGroupings).default('day'),
  /** By session or agent: the usage of one session. */
  session: z.string().min(1).max(200).optional(),
})
export type UsageQuery = z.infer<typeof usageQuery>

/** A complete query: its defaults filled in, its days in order and not too many. */
export type UsageQuestion = Required<Omit<UsageQuery, 'session'>> & Pick<UsageQuery, 'session'>

const DAY_MS = 86_400_000

export function completeUsageQuestion(query: UsageQuery, nowMs: number): UsageQuestion {
  const today = new Date(nowMs).toISOString().slice(0, 10)
  const { from = `${today.slice(0, 7)}-01`, to = today, group_by, session } = query
  if (session !== undefined && group_by !== 'session' && group_by !== 'agent') {
    throw new GatewayError('VALIDATION_ERROR', 'session: needs group_by=session or group_by=agent')
  }
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) {
    const order = query.from === undefined ? `to: ${to} lies before ${from}` : `from: ${from} lies after ${to}`
    throw new GatewayError('VALIDATION_ERROR', order)
  }
  if (days > longestUsageSpanDays) {
    throw new GatewayError(
      'VALIDATION_ERROR',
      `to: ${days} days from ${from} to ${to}, and ${longestUsageSpanDays} may be asked for at once`,
    )
  }
  return { from, to, group_by, ...(session === undefined ? {} : { session }) }
}

const usageFigures = {
  requests: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  /** Part of `prompt_tokens`. */
  cached_tokens: z.int(),
  total_tokens: z.int(),
  /** Tokens times multiplier, as the allowance counts them; 0 for requests charged in dollars. */
  allowance_tokens: z.number(),
  /** 0 for requests charged to an allowance. */
  cost_usd: z.number(),
}

export const usageTotals = z.object(usageFigures)
export type UsageTotals = z.infer<typeof usageTotals>

/**
 * Exactly one of `day` (`2026-11-21`), `model` (the id in the request), `session` and `agent` names the row. A session has the
 * id that its client sends; its main agent is `main`.
 */
const usageRow = z.object({
  day: z.iso.date().optional(),
  model: z.string().optional(),
  session: z.string().optional(),
  agent: z.string().optional(),
  ...usageFigures,
})
export type UsageRow = z.infer<typeof usageRow>

/** Days without use have no row, nor have requests without a session. Days are in order, all others by cost, most first. */
export const usageRecord = z.object({
  object: z.literal('usage'),
  from: z.iso.date(),
  to: z.iso.date(),
  group_by: z.enum(usageGroupings),
  session: z.string().optional(),
  data: z.array(usageRow),
  totals: usageTotals,
})
export type UsageRecord = z.infer<typeof usageRecord>
