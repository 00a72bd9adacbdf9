/**
 * Thresholds that accounts have passed. The primary key makes each of them one; the row is also the note that operators
 * are still to be told.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

export interface AllowanceFacts {
  account: string
  window: string
  plan: string
  /** Top-ups of the window, in the smallest unit. */
  extraMilliTokens: number
  extraNanoUsd: number
}

export interface PassedThreshold {
  account: string
  window: string
  percent: number
  plan: string
  unit: PlanUnit
  used: number
  limit: number
}

/** What is known of these accounts' allowances; nothing of accounts that do not exist. */
export async function readAllowances(
  database: KeysDatabase,
  windows: readonly { account: string; window: string }[],
): Promise<AllowanceFacts[]> {
  const { rows } = await sql<AllowanceFacts>`
    select tag as account, asked."window", plan,
      coalesce(sum(amount) filter (where unit = 'tokens'), 0)::bigint as "extraMilliTokens",
      coalesce(sum(amount) filter (where unit = 'usd'), 0)::bigint as "extraNanoUsd"
    from unnest(${windows.map(({ account }) => account)}::text[], ${windows.map(({ window }) => window)}::text[])
      as asked (account, "window")
    join keys.accounts on tag = asked.account
    left join keys.top_ups top_up on top_up.account = tag and top_up."window" = asked."window"
    group by tag, asked."window"`.execute(database)
  return rows
}

/** Answers those that are new. */
export async function insertPassed(
  database: KeysDatabase,
  passed: readonly PassedThreshold[],
): Promise<Pick<PassedThreshold, 'account' | 'window' | 'percent'>[]> {
  if (passed.length === 0) return []
  const { rows } = await sql<Pick<PassedThreshold, 'account' | 'window' | 'percent'>>`
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

export interface UntoldThreshold extends PassedThreshold {
  kind: 'developer' | 'guest'
  issuer: string | null
  subject: string | null
  passedAt: Date
}

/** The oldest that operators are still to be told of, locked for one process only. */
export function lockUntold(transaction: KeysDatabase): Promise<UntoldThreshold | undefined> {
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

export async function noteAnnounced(
  transaction: KeysDatabase,
  { account, window, percent }: PassedThreshold,
): Promise<void> {
  await transaction
    .updateTable('keys.thresholds')
    .set({ announced_at: sql`now()` })
    .where((is) => is.and({ account, window, percent }))
    .execute()
}
