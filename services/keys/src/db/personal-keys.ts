/**
 * The developer keys of personal accounts, in the form of named keys: administrators see them and revoke them. Their owners mint and
 * rotate them by the calls of developer keys.
 */

import { sql } from 'kysely'
import { type KeyList, matches, type Page, type ProjectKey } from './project-keys.ts'
import type { KeysDatabase } from './tables.ts'

export const PERSONAL_KEY_NAME = 'developer key'

function personalKeys(database: KeysDatabase, account: string) {
  return database
    .selectFrom('keys.keys as key')
    .innerJoin('keys.accounts as holder', 'holder.tag', 'key.account')
    .leftJoin('keys.users as person', (join) =>
      join.onRef('person.issuer', '=', 'holder.issuer').onRef('person.subject', '=', 'holder.subject'),
    )
    .select([
      'key.key_id as keyId',
      'key.account',
      'key.created_at as createdAt',
      'key.last_used_at as lastUsedAt',
      'key.deactivated_at as deactivatedAt',
      'key.version',
      sql<string>`coalesce(person.id, holder.subject)`.as('createdBy'),
      'holder.subject as createdByName',
      'person.name as personName',
      'person.email as personEmail',
      'person.added_at as personAddedAt',
    ])
    .where('key.account', '=', account)
    .where('holder.kind', '=', 'developer')
}

type Row = Awaited<ReturnType<ReturnType<typeof personalKeys>['executeTakeFirstOrThrow']>>

function toKey({ personName, personEmail, personAddedAt, ...key }: Row): ProjectKey {
  return {
    ...key,
    name: PERSONAL_KEY_NAME,
    expires_at: null,
    models: null,
    monthly_limit: null,
    monthly_unit: null,
    requests_per_minute: null,
    tokens_per_minute: null,
    person: personAddedAt && { name: personName, email: personEmail, addedAt: personAddedAt },
    personRole: 'owner',
    serviceAccount: null,
  }
}

/** Dead keys too. */
export async function findPersonalKey(
  database: KeysDatabase,
  account: string,
  keyId: string,
): Promise<ProjectKey | undefined> {
  const row = await personalKeys(database, account).where('key.key_id', '=', keyId).executeTakeFirst()
  return row && toKey(row)
}

/** As `listProjectKeys`. An account has one living key at the most. */
export async function listPersonalKeys(
  database: KeysDatabase,
  { account, after, ownerHasAccess, search, keyIds }: KeyList,
): Promise<Page<ProjectKey> | null> {
  const last = after === undefined ? null : await findPersonalKey(database, account, after)
  if (last === undefined) return null
  const row = await personalKeys(database, account)
    .where('key.deactivated_at', 'is', null)
    .$if(search !== undefined && search !== '', (keys) => keys.where(matches(search!, sql`${PERSONAL_KEY_NAME}::text`)))
    .$if(keyIds !== undefined, (keys) => keys.where('key.key_id', '=', sql<string>`any(${keyIds}::text[])`))
    .executeTakeFirst()
  const isWanted = row && ownerHasAccess !== false && (last === null || row.createdAt < last.createdAt)
  return { items: isWanted ? [toKey(row)] : [], hasMore: false }
}
