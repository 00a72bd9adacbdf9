/**
 * Notes the thresholds of their allowance that accounts pass, and the spend alerts that projects and the organization reach, from the
 * totals that metering reports. It publishes the thresholds durably to operators; `publish-events.ts` publishes the alerts.
 *
 * The primary key makes each threshold one row, which also says that its event is still to be published. A row is marked
 * when its event is stored; a crash in between publishes it again under the same id.
 */

import type {
  AccountThreshold,
  RecordQuotaStatusReply,
  RecordQuotaStatusRequest,
} from '@gateway/contracts/quota-status'
import { fromPlanUnit, toPlanUnit } from '@gateway/pricing/charge'
import { repeat } from '@gateway/service/repeat'
import { rpcClient } from '@gateway/rpc/client'
import type { PlanUnit } from '@gateway/contracts/usage'
import { sql } from 'kysely'
import { effectiveLimit, type HardLimits, hardLimitIn } from './core/project-facts.ts'
import type { KeysContext } from './keys-context.ts'
import { noteReachedAlerts } from './db/spend-alerts.ts'
import { noteSpending } from './db/spending.ts'
import type { KeysDatabase } from './db/tables.ts'

type QuotaStatusContext = Pick<KeysContext, 'database' | 'config' | 'logger'>

/** The reply means that the thresholds are stored. */
export async function recordQuotaStatus(
  context: QuotaStatusContext,
  { totals }: RecordQuotaStatusRequest,
): Promise<RecordQuotaStatusReply> {
  const allowances = await readAllowances(context.database, totals)
  const used = new Map(totals.map((total) => [`${total.window}${total.account}`, total]))
  const passed = allowances.flatMap((facts) => passedBy(context, facts, used.get(`${facts.window}${facts.account}`)!))
  for (const threshold of await insertPassed(context.database, passed)) {
    context.logger.info(threshold, 'an account has passed a threshold of its allowance')
  }
  await noteSpending(context.database, totals)
  for (const alert of await noteReachedAlerts(context.database, [...new Set(totals.map(({ window }) => window))])) {
    context.logger.info(alert, 'a spend alert is reached')
  }
  return { kind: 'noted' }
}

function passedBy(
  { config }: QuotaStatusContext,
  { account, window, plan: slug, overage, spendCents, allowanceTokens, extraMilliTokens, extraNanoUsd }: AllowanceState,
  { milliTokens, nanoUsd }: RecordQuotaStatusRequest['totals'][number],
): PassedThreshold[] {
  const plan = config.current.plans.find((candidate) => candidate.slug === slug)
  if (!plan) return []
  const { unit } = plan
  const [used, extra] = unit === 'tokens' ? [milliTokens, extraMilliTokens] : [nanoUsd, extraNanoUsd]
  const planLimit = fromPlanUnit(plan.limit, unit) + extra
  const limit = effectiveLimit({ planLimit, overage, hardLimit: hardLimitIn(unit, { spendCents, allowanceTokens }) })
  return thresholdsReached(used, limit).map((percent) => ({ account, window, percent, plan: slug, unit, used, limit }))
}

const PERCENTS = [80, 100] as const

/** Takes whole numbers below 2^53. A plan without an allowance has no thresholds. */
export function thresholdsReached(used: number, limit: number): number[] {
  if (limit <= 0) return []
  return PERCENTS.filter((percent) => BigInt(used) * 100n >= BigInt(limit) * BigInt(percent))
}

type AnnouncingContext = Pick<KeysContext, 'bus' | 'database' | 'dueWork' | 'logger'>

const AWAY_PAUSE_MS = 5_000
const STORED_WITHIN_MS = 5_000

export function announceThresholds(context: AnnouncingContext): AsyncDisposable {
  return repeat(async (stopping) => {
    try {
      if ((await announceOne(context)) === 'nothing') await context.dueWork.found('thresholds', stopping)
      return 0
    } catch (error) {
      context.logger.warn({ err: error }, 'a passed threshold could not be announced; it will be')
      return AWAY_PAUSE_MS
    }
  })
}

function announceOne({ bus, database }: AnnouncingContext): Promise<'announced' | 'nothing'> {
  return database.transaction().execute(async (transaction) => {
    const threshold = await lockUnreported(transaction)
    if (!threshold) return 'nothing'
    await rpcClient('keys', bus).report('accountThreshold', eventOf(threshold), { timeoutMs: STORED_WITHIN_MS })
    await noteAnnounced(transaction, threshold)
    return 'announced'
  })
}

function eventOf({ passedAt, used, limit, ...threshold }: UnreportedThreshold): AccountThreshold {
  const { account, window, percent, unit } = threshold
  return {
    v: 1,
    id: `${account}.${window}.${percent}`,
    ...threshold,
    used: toPlanUnit(used, unit),
    limit: toPlanUnit(limit, unit),
    passedAt: passedAt.toISOString(),
  }
}

interface AllowanceState extends HardLimits {
  account: string
  window: string
  plan: string
  overage: boolean
  /** Top-ups of the window, in the smallest unit. */
  extraMilliTokens: number
  extraNanoUsd: number
}

interface PassedThreshold {
  account: string
  window: string
  percent: number
  plan: string
  unit: PlanUnit
  used: number
  limit: number
}

/** The allowances of these accounts; no row for an account that does not exist. */
async function readAllowances(
  database: KeysDatabase,
  windows: readonly { account: string; window: string }[],
): Promise<AllowanceState[]> {
  const { rows } = await sql<AllowanceState>`
    select tag as account, asked."window", plan, overage,
      own.spend_cents as "spendCents", own.allowance_tokens as "allowanceTokens",
      coalesce(sum(amount) filter (where unit = 'tokens'), 0)::bigint as "extraMilliTokens",
      coalesce(sum(amount) filter (where unit = 'usd'), 0)::bigint as "extraNanoUsd"
    from unnest(${windows.map(({ account }) => account)}::text[], ${windows.map(({ window }) => window)}::text[])
      as asked (account, "window")
    join keys.accounts on tag = asked.account
    left join keys.project_limits own on own.account = tag
    left join keys.top_ups top_up on top_up.account = tag and top_up."window" = asked."window"
    group by tag, asked."window", own.account`.execute(database)
  return rows
}

type ThresholdName = Pick<PassedThreshold, 'account' | 'window' | 'percent'>

/** Returns the new ones. */
async function insertPassed(database: KeysDatabase, passed: readonly PassedThreshold[]): Promise<ThresholdName[]> {
  if (passed.length === 0) return []
  const { rows } = await sql<ThresholdName>`
    insert into keys.thresholds (account, "window", percent, plan, unit, used, "limit")
    select account, "window", percent, plan, unit, used, "limit"
    from jsonb_to_recordset(${JSON.stringify(passed)}::jsonb) as passed (
      account text, "window" text, percent smallint, plan text, unit text, used bigint, "limit" bigint
    )
    order by account, "window", percent
    on conflict do nothing
    returning account, "window", percent`.execute(database)
  return rows
}

interface UnreportedThreshold extends PassedThreshold {
  kind: 'developer' | 'guest' | 'project'
  issuer: string | null
  subject: string | null
  passedAt: Date
}

/** The oldest threshold without a published event. One process publishes at a time, so that 80 % comes before all of it. */
async function lockUnreported(transaction: KeysDatabase): Promise<UnreportedThreshold | undefined> {
  const { rows } = await sql<{ isFirst: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended('keys.thresholds', 0)) as "isFirst"`.execute(transaction)
  if (!rows[0]?.isFirst) return undefined
  // Former releases lock rows alone.
  return transaction
    .selectFrom('keys.thresholds as passed')
    .innerJoin('keys.accounts as of', 'of.tag', 'passed.account')
    .select(['passed.account', 'passed.window', 'percent', 'passed.plan', 'unit', 'used', 'limit'])
    .select(['kind', 'issuer', 'subject', 'passed_at as passedAt'])
    .where('announced_at', 'is', null)
    .orderBy('passed_at')
    .orderBy('percent')
    .limit(1)
    .forUpdate('passed')
    .skipLocked()
    .executeTakeFirst()
}

async function noteAnnounced(transaction: KeysDatabase, { account, window, percent }: ThresholdName): Promise<void> {
  await transaction
    .updateTable('keys.thresholds')
    .set({ announced_at: sql`now()` })
    .where((is) => is.and({ account, window, percent }))
    .execute()
}
