/**
 * Thresholds that accounts have passed. The primary key makes each of them one; the row is also the note that operators
 * are still to be told.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import type { Queryable } from '@gateway/postgres/database'

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
  database: Queryable,
  windows: readonly { account: string; window: string }[],
): Promise<AllowanceFacts[]> {
  const { rows } = await database.query<AllowanceFacts>(
    `select tag as account, asked."window", plan,
       coalesce(sum(amount) filter (where unit = 'tokens'), 0)::bigint as "extraMilliTokens",
       coalesce(sum(amount) filter (where unit = 'usd'), 0)::bigint as "extraNanoUsd"
     from unnest($1::text[], $2::text[]) as asked (account, "window")
     join keys.accounts on tag = asked.account
     left join keys.top_ups top_up on top_up.account = tag and top_up."window" = asked."window"
     group by tag, asked."window"`,
    [windows.map(({ account }) => account), windows.map(({ window }) => window)],
  )
  return rows
}

/** Answers those that are new. */
export async function insertPassed(
  database: Queryable,
  passed: readonly PassedThreshold[],
): Promise<Pick<PassedThreshold, 'account' | 'window' | 'percent'>[]> {
  if (passed.length === 0) return []
  const { rows } = await database.query<Pick<PassedThreshold, 'account' | 'window' | 'percent'>>(
    `insert into keys.thresholds (account, "window", percent, plan, unit, used, "limit")
     select account, "window", percent, plan, unit, used, "limit"
     from jsonb_to_recordset($1::jsonb) as passed (
       account text, "window" text, percent smallint, plan text, unit text, used bigint, "limit" bigint
     )
     order by account, "window", percent
     on conflict do nothing
     returning account, "window", percent`,
    [JSON.stringify(passed)],
  )
  return rows
}

export interface UntoldThreshold extends PassedThreshold {
  kind: 'developer' | 'guest'
  issuer: string | null
  subject: string | null
  passedAt: Date
}

/** The oldest that operators are still to be told of, locked for one process only. */
export async function lockUntold(transaction: Queryable): Promise<UntoldThreshold | undefined> {
  const { rows } = await transaction.query<UntoldThreshold>(
    `select passed.account, passed."window", percent, passed.plan, unit, used, "limit", kind, issuer, subject,
       passed_at as "passedAt"
     from keys.thresholds passed join keys.accounts on tag = passed.account
     where announced_at is null order by passed_at, percent limit 1
     for update of passed skip locked`,
  )
  return rows[0]
}

export async function noteAnnounced(
  transaction: Queryable,
  { account, window, percent }: PassedThreshold,
): Promise<void> {
  await transaction.query(
    'update keys.thresholds set announced_at = now() where account = $1 and "window" = $2 and percent = $3',
    [account, window, percent],
  )
}
