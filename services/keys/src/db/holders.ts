/**
 * The account behind a living key, whether the key is a person's, a guest's or a project's.
 */

import { sql } from 'kysely'
import type { StoredLimits } from '../core/key-limits.ts'
import type { Account } from './accounts.ts'
import { projectKeysOf } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export interface Holder extends Account {
  keyId: string
  /** Of a project's key. */
  limits: StoredLimits | null
}

/** The account, if this is a living key of it that has not expired. */
export async function findHolder(database: KeysDatabase, tag: string, hash: Buffer): Promise<Holder | undefined> {
  const { rows } = await sql<Holder>`
    select tag, plan, overage, account.version, key.key_id as "keyId", key.limits
    from keys.accounts account
    join (
      select key_id, status = 'active' as active, null::json as limits
      from keys.keys where account = ${tag} and hash = ${hash}
      union all
      select key_id, active and coalesce(expires_at > now(), true), limits
      from (${projectKeysOf(sql`${tag}`, [hash])}) project_key
    ) key on key.active
    where tag = ${tag} and suspended_at is null`.execute(database)
  return rows[0]
}
