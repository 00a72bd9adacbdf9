/**
 * What admission is told of accounts, for a page of them at once.
 */

import type { Queryable } from '@gateway/postgres/database'
import type { OwnKeyFacts } from '../core/compare-facts.ts'

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
