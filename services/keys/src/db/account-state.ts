/**
 * The state of accounts for admission, a page of them at once.
 */

import { sql } from 'kysely'
import type { OwnKeyState } from '../core/compare-state.ts'
import type { KeysDatabase } from './tables.ts'

/** The accounts that come after this one, in the order of their tags. */
export async function pageOfAccounts(database: KeysDatabase, after: string | null, atMost: number): Promise<string[]> {
  const rows = await database
    .selectFrom('keys.accounts')
    .select('tag')
    .where('tag', '>', after ?? '')
    .orderBy('tag')
    .limit(atMost)
    .execute()
  return rows.map(({ tag }) => tag)
}

export interface RequestedState {
  account: string
  /** The keys to report even if they are dead. */
  keyHashes: readonly Buffer[]
  /** The store's present window. */
  window: string
}

export interface AdmissionState {
  account: string
  version: number
  plan: string
  overage: boolean
  /** Top-ups of the window, in the smallest unit. */
  extraMilliTokens: number
  extraNanoUsd: number
  window: string
  /** Top-ups of later windows are known. */
  moreLater: boolean
  /** The active key, and the requested ones. */
  keys: OwnKeyState[]
}

/** Reads the state of these accounts that the admission store needs, as of one moment: one statement reads it. */
export async function readAdmissionState(
  database: KeysDatabase,
  requested: readonly RequestedState[],
): Promise<Map<string, AdmissionState>> {
  if (requested.length === 0) return new Map()
  type Row = Omit<AdmissionState, 'keys'> & { keyId: string; hash: Buffer | null; keyVersion: number; active: boolean }
  const accounts = requested.map(({ account }) => account)
  const windows = requested.map(({ window }) => window)
  const hashes = requested.flatMap(({ keyHashes }) => keyHashes)
  const { rows } = await sql<Row>`
     select account.tag as account, account.version, plan, overage, asked."window", top_ups.*,
       key.key_id as "keyId", key.hash, key.version as "keyVersion", key.status = 'active' as active
     from unnest(${accounts}::text[], ${windows}::text[]) as asked (tag, "window")
     join keys.accounts account using (tag)
     left join keys.keys key on key.account = account.tag and (key.status = 'active' or key.hash = any(${hashes}::bytea[]))
     cross join lateral (
       select
         coalesce(sum(amount) filter (where unit = 'tokens' and top_up."window" = asked."window"), 0)::bigint
           as "extraMilliTokens",
         coalesce(sum(amount) filter (where unit = 'usd' and top_up."window" = asked."window"), 0)::bigint
           as "extraNanoUsd",
         coalesce(bool_or(top_up."window" > asked."window"), false) as "moreLater"
       from keys.top_ups top_up
       where top_up.account = account.tag and top_up."window" >= asked."window"
     ) as top_ups`.execute(database)
  const byAccount = Map.groupBy(rows, ({ account }) => account)
  return new Map(
    [...byAccount].map(([account, ofAccount]) => {
      const { keyId: _id, hash: _hash, keyVersion: _version, active: _active, ...facts } = ofAccount[0]!
      const keys = ofAccount.flatMap(({ keyId, hash, keyVersion, active }) =>
        hash ? [{ keyId, keyHash: hash.toString('base64url'), version: keyVersion, active }] : [],
      )
      return [account, { ...facts, keys }]
    }),
  )
}

/** Raises the version, so that the next write outranks the store's state. */
export async function raiseVersionTo(database: KeysDatabase, account: string, version: number): Promise<void> {
  await database
    .updateTable('keys.accounts')
    .set({ version: sql`greatest(version, ${version})` })
    .where('tag', '=', account)
    .execute()
}

export async function readHeldPlans(
  database: KeysDatabase,
  accounts: readonly string[],
): Promise<{ account: string; plan: string; version: number }[]> {
  if (accounts.length === 0) return []
  return database
    .selectFrom('keys.accounts')
    .select(['tag as account', 'plan', 'version'])
    .where('tag', '=', sql<string>`any(${accounts}::text[])`)
    .execute()
}
