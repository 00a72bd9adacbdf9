/**
 * The state of accounts for admission, a page of them at once.
 */

import { sql } from 'kysely'
import type { StoredLimits } from '../core/key-limits.ts'
import type { OwnKeyState } from '../core/compare-state.ts'
import { projectKeysOf } from './project-keys.ts'
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

/** A key, and the limits of a project's one. */
export interface KeyOfState extends OwnKeyState {
  limits: StoredLimits | null
}

export interface AdmissionState {
  account: string
  kind: 'developer' | 'guest' | 'project'
  version: number
  plan: string
  overage: boolean
  /** Top-ups of the window, in the smallest unit. */
  extraMilliTokens: number
  extraNanoUsd: number
  window: string
  /** Top-ups of later windows are known. */
  moreLater: boolean
  /** The active key of a person or guest, and the requested ones. */
  keys: KeyOfState[]
}

/** Reads the state of these accounts that the admission store needs, as of one moment: one statement reads it. */
export async function readAdmissionState(
  database: KeysDatabase,
  requested: readonly RequestedState[],
): Promise<Map<string, AdmissionState>> {
  if (requested.length === 0) return new Map()
  type KeyRow = {
    keyId: string
    hash: Buffer | null
    keyVersion: number
    active: boolean
    suspended: boolean
    limits: StoredLimits | null
  }
  type Row = Omit<AdmissionState, 'keys'> & KeyRow
  const accounts = requested.map(({ account }) => account)
  const windows = requested.map(({ window }) => window)
  const hashes = requested.flatMap(({ keyHashes }) => keyHashes)
  const { rows } = await sql<Row>`
     select account.tag as account, account.kind, account.version, plan, overage, asked."window", top_ups.*,
       key.key_id as "keyId", key.hash, key.version as "keyVersion", key.active,
       account.suspended_at is not null as suspended, key.limits
     from unnest(${accounts}::text[], ${windows}::text[]) as asked (tag, "window")
     join keys.accounts account using (tag)
     left join lateral (
       select key_id, hash, version, status = 'active' as active, null::json as limits
       from keys.keys where account = account.tag and (status = 'active' or hash = any(${hashes}::bytea[]))
       union all
       select key_id, hash, version, active and account.suspended_at is null, limits
       from (${projectKeysOf(sql`account.tag`, hashes)}) project_key
     ) key on true
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
      const {
        keyId: _id,
        hash: _hash,
        keyVersion: _version,
        active: _active,
        suspended,
        limits: _limits,
        ...facts
      } = ofAccount[0]!
      const keys = ofAccount.flatMap(({ keyId, hash, keyVersion, active, limits }) =>
        hash
          ? [
              {
                keyId,
                keyHash: hash.toString('base64url'),
                version: keyVersion,
                active,
                limits,
                hasLimits: limits !== null,
                suspended,
              },
            ]
          : [],
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
