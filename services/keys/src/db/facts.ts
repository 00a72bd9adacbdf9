/**
 * What admission is told of accounts, for a page of them at once.
 */

import type { Queryable } from '@gateway/postgres/database'
import type { OwnKeyFacts } from '../core/compare-facts.ts'
import type { KeyState } from './keys.ts'

export interface StoredFacts {
  account: string
  version: number
  plan: string
  overage: boolean
  /** Top-ups of the window, in the smallest unit. */
  extraMilliTokens: number
  extraNanoUsd: number
}

/** The accounts that come after this one, in the order of their tags. */
export async function pageOfAccounts(database: Queryable, after: string | null, atMost: number): Promise<string[]> {
  const { rows } = await database.query<{ tag: string }>(
    'select tag from keys.accounts where tag > $1 order by tag limit $2',
    [after ?? '', atMost],
  )
  return rows.map(({ tag }) => tag)
}

export async function readFacts(
  database: Queryable,
  { accounts, window }: { accounts: readonly string[]; window: string },
): Promise<StoredFacts[]> {
  const { rows } = await database.query<StoredFacts>(
    `select tag as account, version, plan, overage,
       coalesce(sum(amount) filter (where unit = 'tokens'), 0)::bigint as "extraMilliTokens",
       coalesce(sum(amount) filter (where unit = 'usd'), 0)::bigint as "extraNanoUsd"
     from keys.accounts left join keys.top_ups top_up on top_up.account = tag and top_up."window" = $2
     where tag = any($1::text[])
     group by tag`,
    [accounts, window],
  )
  return rows
}

export interface AskedFacts {
  account: string
  /** Keys to tell of even if they are dead. */
  keyHashes: readonly Uint8Array[]
  /** The store's present one. */
  window: string
}

export interface AdmissionFacts extends StoredFacts {
  window: string
  /** Top-ups of later windows are known. */
  moreLater: boolean
  /** The active one, and those that were asked for. */
  keys: KeyState[]
}

/** All that the admission store is told of these accounts, as of one moment: one statement reads it. */
export async function readAdmissionFacts(
  database: Queryable,
  asked: readonly AskedFacts[],
): Promise<Map<string, AdmissionFacts>> {
  if (asked.length === 0) return new Map()
  type Row = Omit<AdmissionFacts, 'keys'> & { hash: Buffer | null; keyVersion: number; active: boolean }
  const { rows } = await database.query<Row>(
    `select account.tag as account, account.version, plan, overage, asked."window", top_ups.*,
       key.hash, key.version as "keyVersion", key.status = 'active' as active
     from unnest($1::text[], $2::text[]) as asked (tag, "window")
     join keys.accounts account using (tag)
     left join keys.keys key on key.account = account.tag and (key.status = 'active' or key.hash = any($3::bytea[]))
     cross join lateral (
       select
         coalesce(sum(amount) filter (where unit = 'tokens' and top_up."window" = asked."window"), 0)::bigint
           as "extraMilliTokens",
         coalesce(sum(amount) filter (where unit = 'usd' and top_up."window" = asked."window"), 0)::bigint
           as "extraNanoUsd",
         coalesce(bool_or(top_up."window" > asked."window"), false) as "moreLater"
       from keys.top_ups top_up
       where top_up.account = account.tag and top_up."window" >= asked."window"
     ) as top_ups`,
    [
      asked.map(({ account }) => account),
      asked.map(({ window }) => window),
      asked.flatMap(({ keyHashes }) => keyHashes),
    ],
  )
  const byAccount = Map.groupBy(rows, ({ account }) => account)
  return new Map(
    [...byAccount].map(([account, ofAccount]) => {
      const { hash: _hash, keyVersion: _version, active: _active, ...facts } = ofAccount[0]!
      const keys = ofAccount.flatMap(({ hash, keyVersion, active }) =>
        hash ? [{ hash, version: keyVersion, active }] : [],
      )
      return [account, { ...facts, keys }]
    }),
  )
}

export async function readVersions(database: Queryable, accounts: readonly string[]): Promise<Map<string, number>> {
  if (accounts.length === 0) return new Map()
  const { rows } = await database.query<{ account: string; version: number }>(
    'select tag as account, version from keys.accounts where tag = any($1::text[])',
    [accounts],
  )
  return new Map(rows.map(({ account, version }) => [account, version]))
}

export async function readKeyFacts(database: Queryable, hashes: readonly string[]): Promise<OwnKeyFacts[]> {
  const { rows } = await database.query<Omit<OwnKeyFacts, 'keyHash'> & { hash: Buffer }>(
    `select key_id as "keyId", account, hash, version, status = 'active' as active from keys.keys
     where hash = any($1::bytea[])`,
    [hashes.map((hash) => Buffer.from(hash, 'base64url'))],
  )
  return rows.map(({ hash, ...key }) => ({ ...key, keyHash: hash.toString('base64url') }))
}

/** At least this, so that what is written next outranks what the store has. */
export async function raiseVersionTo(database: Queryable, account: string, version: number): Promise<void> {
  await database.query('update keys.accounts set version = greatest(version, $2) where tag = $1', [account, version])
}

export async function readHeldPlans(
  database: Queryable,
  accounts: readonly string[],
): Promise<{ account: string; plan: string; version: number }[]> {
  const { rows } = await database.query<{ account: string; plan: string; version: number }>(
    'select tag as account, plan, version from keys.accounts where tag = any($1::text[])',
    [accounts],
  )
  return rows
}
