/**
 * The totals of accounts' windows. An account that has no row has used nothing: version 0.
 */

import type { IncludedRequest, KeyTotal } from '@gateway/admission/port'
import type { PlanUnit } from '@gateway/contracts/usage'
import { sql } from 'kysely'
import { windowKey } from '../core/reports.ts'
import type { MeteringDatabase } from './tables.ts'

export interface WindowName {
  account: string
  window: string
}

export interface WindowTotal extends WindowName {
  /** In the unit of the account's plan: milli-tokens or nano-dollars. */
  settled: number
  version: number
  /** Of the requested keys, as far as the ledger keeps their totals; of the same version. */
  keys?: KeyTotal[] | undefined
}

export interface TotalQuery extends WindowName {
  /** Keys whose totals are to be read, too. */
  keyIds?: readonly string[] | 'all' | undefined
}

/** The state of a window for the admission store. */
export interface Settled extends WindowTotal {
  included: IncludedRequest[]
}

const SETTLED = sql<number>`case unit when 'tokens' then milli_tokens else nano_usd end`.as('settled')

/** Of the window in hand; one statement, so it is of the moment of the window's own total. */
const KEYS = sql<KeyTotal[]>`(
  select coalesce(json_agg(json_build_object(
    'keyId', key_id, 'settled', case held.unit when 'tokens' then key.milli_tokens else key.nano_usd end
  ) order by key_id), '[]')
  from metering.key_windows key
  where key.account = held.account and key."window" = held."window" and (asked.keys = '"all"' or asked.keys ? key_id)
)`.as('keys')

/** The named windows' rows, as far as there are any. */
function windowsNamed(database: MeteringDatabase, windows: readonly WindowName[]) {
  return database
    .selectFrom('metering.windows as held')
    .innerJoin(requested(windows), (join) =>
      join.onRef('asked.account', '=', 'held.account').onRef('asked.window', '=', 'held.window'),
    )
}

const requested = (windows: readonly TotalQuery[]) =>
  sql<WindowName>`(
    select * from unnest(
      ${windows.map(({ account }) => account)}::text[], ${windows.map(({ window }) => window)}::text[],
      ${windows.map(({ keyIds = [] }) => JSON.stringify(keyIds))}::jsonb[]
    ) as named (account, "window", keys)
  )`.as<'asked'>(sql`asked`)

/** Each window once, with all its keys. */
function distinct(windows: readonly TotalQuery[]): TotalQuery[] {
  const named = new Map<string, TotalQuery>()
  for (const { account, window, keyIds = [] } of windows) {
    const of = windowKey({ account, window })
    const before = named.get(of)?.keyIds ?? []
    const both = before === 'all' || keyIds === 'all' ? 'all' : [...new Set([...before, ...keyIds])]
    named.set(of, { account, window, keyIds: both })
  }
  return [...named.values()]
}

/** No keys, where none is requested: the store's message then has none. */
function withoutEmptyKeys({ keys, ...total }: WindowTotal): WindowTotal {
  return keys && keys.length > 0 ? { ...total, keys } : total
}

export async function readTotals(database: MeteringDatabase, windows: readonly TotalQuery[]): Promise<WindowTotal[]> {
  if (windows.length === 0) return []
  const totals = await windowsNamed(database, distinct(windows))
    .select(['held.account', 'held.window', 'version', SETTLED, KEYS])
    .execute()
  return totals.map(withoutEmptyKeys)
}

/** Of each window, and of those of its account that come after it. */
export async function readTotalsSince(
  database: MeteringDatabase,
  windows: readonly TotalQuery[],
): Promise<WindowTotal[]> {
  if (windows.length === 0) return []
  const totals = await database
    .selectFrom('metering.windows as held')
    .innerJoin(requested(distinct(windows)), (join) =>
      join.onRef('asked.account', '=', 'held.account').onRef('asked.window', '<=', 'held.window'),
    )
    .select(['held.account', 'held.window', 'version', SETTLED, KEYS])
    .execute()
  return totals.map(withoutEmptyKeys)
}

/** The usage in this unit, whichever unit the account's plan counts in now, and that of keys. */
export async function readUsed(
  database: MeteringDatabase,
  { account, window, unit, keyIds = [] }: WindowName & { unit: PlanUnit; keyIds?: readonly string[] | undefined },
): Promise<{ used: number; keys: KeyTotal[] }> {
  const amount = sql.ref(unit === 'tokens' ? 'milli_tokens' : 'nano_usd')
  const { rows } = await sql<{ keyId: string | null; settled: number }>`
    select null as "keyId", ${amount} as settled from metering.windows
    where account = ${account} and "window" = ${window}
    union all
    select key_id, ${amount} from metering.key_windows
    where account = ${account} and "window" = ${window} and key_id = any(${keyIds}::text[])`.execute(database)
  const keys = rows.flatMap(({ keyId, settled }) => (keyId === null ? [] : [{ keyId, settled }]))
  return { used: rows.find(({ keyId }) => keyId === null)?.settled ?? 0, keys }
}

/** In both units, for those who judge a total. */
interface WindowUse extends WindowName {
  milliTokens: number
  nanoUsd: number
  version: number
}

export function readUse(database: MeteringDatabase, windows: readonly WindowName[]): Promise<WindowUse[]> {
  return windowsNamed(database, windows)
    .select(['held.account', 'held.window', 'milli_tokens as milliTokens', 'nano_usd as nanoUsd', 'version'])
    .execute()
}

/** The accounts that come after this one and have used something in the window, a page of them. */
export function pageOfWindow(
  database: MeteringDatabase,
  { account, window }: WindowName,
  atMost: number,
): Promise<WindowName[]> {
  return database
    .selectFrom('metering.windows')
    .select(['account', 'window'])
    .where('account', '>', account)
    .where('window', '=', window)
    .orderBy('account')
    .limit(atMost)
    .execute()
}

/**
 * Raises the version above the store's, so that the store takes the ledger's total again. An account without a row gets one: the
 * versions of its later totals go on from here.
 */
export async function raiseVersionAbove(
  database: MeteringDatabase,
  { account, window, version }: { account: string; window: string; version: number },
): Promise<void> {
  await database
    .insertInto('metering.windows')
    .values({ account, window, milli_tokens: 0, nano_usd: 0, unit: 'tokens', version: version + 1 })
    .onConflict((conflict) =>
      conflict.columns(['account', 'window']).doUpdateSet({ version: sql`greatest(windows.version, ${version}) + 1` }),
    )
    .execute()
}

interface WindowUnit extends WindowName {
  unit: PlanUnit
  planVersion: number
}

/** The unit of the windows' totals. One that nobody has written to has none. */
export async function readUnits(database: MeteringDatabase, windows: readonly WindowName[]): Promise<WindowUnit[]> {
  if (windows.length === 0) return []
  return windowsNamed(database, windows)
    .select(['held.account', 'held.window', 'unit', 'plan_version as planVersion'])
    .where('version', '>', 0)
    .$narrowType<{ unit: PlanUnit }>()
    .execute()
}

/**
 * The account's plan counts in this unit, since the change of this number. A change of unit is a newer version of the
 * total, so that the store takes it although no request has moved it. A change that is older than the latest known one changes
 * nothing. A change without a number (of a former version of keys) counts as the latest. An account without a row gets one, so
 * that a report of a former plan is known as such.
 */
export async function setUnit(
  database: MeteringDatabase,
  { account, window, unit, planVersion }: Omit<WindowUnit, 'planVersion'> & { planVersion?: number | undefined },
): Promise<void> {
  const version = sql<number>`coalesce(${planVersion ?? null}, windows.plan_version)`
  await database
    .insertInto('metering.windows')
    .values({ account, window, milli_tokens: 0, nano_usd: 0, unit, plan_version: planVersion ?? 0, version: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['account', 'window'])
        .doUpdateSet({
          unit,
          plan_version: version,
          version: sql`windows.version + case when windows.unit <> ${unit} then 1 else 0 end`,
        })
        .where(version, '>=', sql<number>`windows.plan_version`),
    )
    .execute()
}
