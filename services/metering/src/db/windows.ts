/**
 * The totals of accounts' windows. An account that has no row has used nothing: version 0.
 */

import type { IncludedRequest } from '@gateway/admission/metering'
import type { Queryable } from '@gateway/postgres/database'
import type { PlanUnit } from '@gateway/contracts/usage'

export interface WindowTotal {
  account: string
  window: string
  /** In the unit of the account's plan: milli-tokens or nano-dollars. */
  settled: number
  version: number
}

/** What the admission store is told of a window. */
export interface Settled extends WindowTotal {
  included: IncludedRequest[]
}

const SETTLED = `case unit when 'tokens' then milli_tokens else nano_usd end as settled`

export async function readTotals(
  database: Queryable,
  windows: readonly { account: string; window: string }[],
): Promise<WindowTotal[]> {
  if (windows.length === 0) return []
  const { rows } = await database.query<WindowTotal>(
    `select account, "window", version, ${SETTLED}
     from metering.windows
     join (select distinct * from unnest($1::text[], $2::text[]) as asked (account, "window")) as asked
       using (account, "window")`,
    [windows.map(({ account }) => account), windows.map(({ window }) => window)],
  )
  return rows
}

/** Of each window, and of those of its account that come after it. */
export async function readTotalsSince(
  database: Queryable,
  windows: readonly { account: string; window: string }[],
): Promise<WindowTotal[]> {
  if (windows.length === 0) return []
  const { rows } = await database.query<WindowTotal>(
    `select held.account, held."window", version, ${SETTLED}
     from unnest($1::text[], $2::text[]) as asked (account, "window")
     join metering.windows held on held.account = asked.account and held."window" >= asked."window"`,
    [windows.map(({ account }) => account), windows.map(({ window }) => window)],
  )
  return rows
}

/** What was used in this unit, whichever unit the account's plan counts in now. */
export async function readUsed(
  database: Queryable,
  { account, window, unit }: { account: string; window: string; unit: PlanUnit },
): Promise<number> {
  const { rows } = await database.query<{ used: number }>(
    `select case $3 when 'tokens' then milli_tokens else nano_usd end as used
     from metering.windows where account = $1 and "window" = $2`,
    [account, window, unit],
  )
  return rows[0]?.used ?? 0
}

/**
 * A version above what the store has, so that it takes the ledger's total again. An account without a row gets one: the
 * versions of its later totals go on from here.
 */
export async function raiseVersionAbove(
  database: Queryable,
  { account, window, version }: { account: string; window: string; version: number },
): Promise<void> {
  await database.query(
    `insert into metering.windows as held (account, "window", milli_tokens, nano_usd, unit, version)
     values ($1, $2, 0, 0, 'tokens', $3 + 1)
     on conflict (account, "window") do update set version = greatest(held.version, $3) + 1`,
    [account, window, version],
  )
}

export interface WindowUnit {
  account: string
  window: string
  unit: PlanUnit
  planVersion: number
}

/** What the totals of windows are told in. */
export async function readUnits(
  database: Queryable,
  windows: readonly { account: string; window: string }[],
): Promise<WindowUnit[]> {
  if (windows.length === 0) return []
  const { rows } = await database.query<WindowUnit>(
    `select account, "window", unit, plan_version as "planVersion" from metering.windows
     join unnest($1::text[], $2::text[]) as asked (account, "window") using (account, "window")`,
    [windows.map(({ account }) => account), windows.map(({ window }) => window)],
  )
  return rows
}

/**
 * The account's plan counts in this unit, since the change of this number. A change of unit is a newer version of the
 * total, so that the store takes it although no request has moved it. A change that is older than the latest known one
 * changes nothing; one without a number (a former version of keys) is taken for the latest. An account without a row
 * gets one, so that a report of a former plan is known as such.
 */
export async function setUnit(
  database: Queryable,
  { account, window, unit, planVersion }: Omit<WindowUnit, 'planVersion'> & { planVersion?: number | undefined },
): Promise<void> {
  await database.query(
    `insert into metering.windows as held (account, "window", milli_tokens, nano_usd, unit, plan_version, version)
     values ($1, $2, 0, 0, $3, coalesce($4, 0), 1)
     on conflict (account, "window") do update set
       unit = excluded.unit,
       plan_version = coalesce($4, held.plan_version),
       version = held.version + case when held.unit <> excluded.unit then 1 else 0 end
     where coalesce($4, held.plan_version) >= held.plan_version`,
    [account, window, unit, planVersion ?? null],
  )
}
