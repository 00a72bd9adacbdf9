/**
 * The backends that an operator has ejected or drained.
 */

import type { BackendControl } from '@gateway/contracts/routers-api'
import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

export interface Controls {
  controls: { backend: string; control: BackendControl }[]
  /** By the database's clock, so that of two readings the later one is known. */
  readAtMs: number
}

/** Columns of a query that reads more beside them. */
export const CONTROLS = sql<Controls>`
  (select coalesce(json_agg(json_build_object('backend', backend, 'control', control) order by backend), '[]')
    from keys.backend_controls) as controls,
  (extract(epoch from statement_timestamp()) * 1000)::float8 as "readAtMs"`

export async function readControls(database: KeysDatabase): Promise<Controls> {
  const { rows } = await sql<Controls>`select ${CONTROLS}`.execute(database)
  return rows[0]!
}

/** Two changes of one backend go one after another, so each knows the state that it ends. */
export async function lockControl(transaction: KeysDatabase, backend: string): Promise<BackendControl | null> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`backend ${backend}`}, 0))`.execute(transaction)
  const row = await transaction
    .selectFrom('keys.backend_controls')
    .select('control')
    .where('backend', '=', backend)
    .executeTakeFirst()
  return row?.control ?? null
}

export async function setControl(
  transaction: KeysDatabase,
  backend: string,
  control: BackendControl | null,
): Promise<void> {
  if (control === null) {
    await transaction.deleteFrom('keys.backend_controls').where('backend', '=', backend).execute()
    return
  }
  await transaction
    .insertInto('keys.backend_controls')
    .values({ backend, control })
    .onConflict((conflict) => conflict.column('backend').doUpdateSet({ control, changed_at: sql`now()` }))
    .execute()
}
