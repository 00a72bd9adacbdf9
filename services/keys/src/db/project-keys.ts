/**
 * Named keys of projects. The table keeps the hash of a key's value alone. A rotation replaces the value: the key keeps its id, and
 * the former value's hash stays known as a dead one.
 */

import type { PlanUnit } from '@gateway/contracts/usage'
import { type RawBuilder, sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

export interface LimitsColumns {
  expires_at: Date | RawBuilder<Date> | null
  models: string[] | null
  monthly_limit: number | null
  monthly_unit: PlanUnit | null
  requests_per_minute: number | null
  tokens_per_minute: number | null
}

export type KeyOwner =
  | { kind: 'service_account'; id: string }
  /** The administrator who created the key. */
  | { kind: 'administrator'; id: string; name: string }

export interface ProjectKey extends LimitsColumns {
  expires_at: Date | null
  keyId: string
  account: string
  name: string
  createdAt: Date
  lastUsedAt: Date | null
  deactivatedAt: Date | null
  version: number
  createdBy: string | null
  createdByName: string | null
  /** The person who created the key, as far as known. */
  person: { name: string | null; email: string | null; addedAt: Date } | null
  /** The person's role in the project now; null also where no person created the key. */
  personRole: 'member' | 'owner' | null
  serviceAccount: { id: string; name: string; role: 'member' | 'owner'; createdAt: Date } | null
}

export interface NewProjectKey {
  keyId: string
  account: string
  hash: Buffer
  name: string
  owner: KeyOwner
  limits: LimitsColumns
  version: number
}

export async function insertProjectKey(transaction: KeysDatabase, key: NewProjectKey): Promise<void> {
  const { keyId, account, hash, name, owner, limits, version } = key
  const isAdministrator = owner.kind === 'administrator'
  await transaction
    .insertInto('keys.project_keys')
    .values({
      ...limits,
      key_id: keyId,
      account,
      hash,
      name,
      version,
      service_account: isAdministrator ? null : owner.id,
      created_by: isAdministrator ? owner.id : null,
      created_by_name: isAdministrator ? owner.name : null,
    })
    .execute()
}

/** By the memberships of today, and the groups of the last token. An owner of the organization is one of each project. */
export const PERSON_ROLE = sql<'member' | 'owner' | null>`(
  select max(access.role) from (
    select role from keys.project_users where account = key.account and user_id = person.id
    union all
    select membership.role from keys.groups named
    join keys.project_groups membership on membership.group_id = named.id
    where membership.account = key.account and named.name = any(person.groups)
    union all
    select 'owner' where person.role = 'owner'
  ) access where person.removed_at is null)`

function projectKeys(database: KeysDatabase, account: string) {
  return database
    .selectFrom('keys.project_keys as key')
    .leftJoin('keys.service_accounts as robot', 'robot.id', 'key.service_account')
    .leftJoin('keys.users as person', 'person.id', 'key.created_by')
    .select([
      'key.key_id as keyId',
      'key.account',
      'key.name',
      'key.expires_at',
      'key.models',
      'key.monthly_limit',
      'key.monthly_unit',
      'key.requests_per_minute',
      'key.tokens_per_minute',
      'key.created_at as createdAt',
      'key.last_used_at as lastUsedAt',
      'key.deactivated_at as deactivatedAt',
      'key.version',
      'key.created_by as createdBy',
      'key.created_by_name as createdByName',
      'person.name as personName',
      'person.email as personEmail',
      'person.added_at as personAddedAt',
      PERSON_ROLE.as('personRole'),
      'robot.id as robotId',
      'robot.name as robotName',
      'robot.role as robotRole',
      'robot.created_at as robotCreatedAt',
    ])
    .where('key.account', '=', account)
}

type Row = Awaited<ReturnType<ReturnType<typeof projectKeys>['executeTakeFirstOrThrow']>>

function toKey(row: Row): ProjectKey {
  const { robotId, robotName, robotRole, robotCreatedAt, personName, personEmail, personAddedAt, ...key } = row
  return {
    ...key,
    person: personAddedAt && { name: personName, email: personEmail, addedAt: personAddedAt },
    serviceAccount:
      robotId === null ? null : { id: robotId, name: robotName!, role: robotRole!, createdAt: robotCreatedAt! },
  }
}

/** Dead keys too. */
export async function findProjectKey(
  database: KeysDatabase,
  account: string,
  keyId: string,
): Promise<ProjectKey | undefined> {
  const row = await projectKeys(database, account).where('key.key_id', '=', keyId).executeTakeFirst()
  return row && toKey(row)
}

export interface Page<Item> {
  items: Item[]
  hasMore: boolean
}

/** Waits for a running change of the key's account, and locks the account too. */
export async function lockProjectKeyById(transaction: KeysDatabase, keyId: string): Promise<ProjectKey | undefined> {
  const holder = await transaction
    .selectFrom('keys.accounts')
    .select('tag')
    .where('tag', '=', (one) => one.selectFrom('keys.project_keys').select('account').where('key_id', '=', keyId))
    .forUpdate()
    .executeTakeFirst()
  return holder && findProjectKey(transaction, holder.tag, keyId)
}

export interface KeyList {
  account: string
  after: string | undefined
  limit: number
  /** Only those whose owner has access to the project, or has none any more. */
  ownerHasAccess: boolean | null
  /** A part of the name, or the beginning of the masked value or of the id. */
  search?: string | undefined
  keyIds?: readonly string[] | undefined
}

/**
 * The living keys of the account, newest first; after the key of the id `after`, dead or alive. Null where the account has no
 * such key.
 */
export async function listProjectKeys(
  database: KeysDatabase,
  { account, after, limit, ownerHasAccess, search, keyIds }: KeyList,
): Promise<Page<ProjectKey> | null> {
  if (after !== undefined && !(await findProjectKey(database, account, after))) return null
  const older = sql<boolean>`(key.created_at, key.key_id) <
    (select created_at, key_id from keys.project_keys where key_id = ${after})`
  const hasAccess = sql<boolean>`(person.id is null or ${PERSON_ROLE} is not null)`
  const rows = await projectKeys(database, account)
    .where('key.deactivated_at', 'is', null)
    .$if(after !== undefined, (keys) => keys.where(older))
    .$if(ownerHasAccess !== null, (keys) => keys.where(sql<boolean>`${hasAccess} = ${ownerHasAccess}`))
    .$if(search !== undefined && search !== '', (keys) => keys.where(matches(search!, sql.ref('key.name'))))
    .$if(keyIds !== undefined, (keys) => keys.where('key.key_id', '=', sql<string>`any(${keyIds}::text[])`))
    .orderBy('key.created_at', 'desc')
    .orderBy('key.key_id', 'desc')
    .limit(limit + 1)
    .execute()
  return { items: rows.slice(0, limit).map(toKey), hasMore: rows.length > limit }
}

export function matches(search: string, name: RawBuilder<unknown>) {
  return sql<boolean>`(position(lower(${search}) in lower(${name})) > 0
    or starts_with('svc_' || key.key_id, ${search.replace('…', '')}) or starts_with('key_' || key.key_id, ${search}))`
}

/** `version`: the locked account's, which counted the change. */
export async function changeProjectKey(
  transaction: KeysDatabase,
  keyId: string,
  change: Partial<LimitsColumns> & { name?: string; version?: number },
): Promise<void> {
  if (Object.keys(change).length === 0) return
  await transaction.updateTable('keys.project_keys').set(change).where('key_id', '=', keyId).execute()
}

/** Replaces the value of a living key. */
export async function replaceValue(
  transaction: KeysDatabase,
  { account, keyId, hash, version }: { account: string; keyId: string; hash: Buffer; version: number },
): Promise<void> {
  await sql`
    insert into keys.replaced_values (hash, key_id, account, version)
    select hash, key_id, account, ${version} from keys.project_keys
    where key_id = ${keyId} and account = ${account}`.execute(transaction)
  await transaction.updateTable('keys.project_keys').set({ hash, version }).where('key_id', '=', keyId).execute()
}

/** Ends living keys of a locked account: all, one, or those of a service account. Returns their ids. */
export async function endProjectKeys(
  transaction: KeysDatabase,
  of: { account: string; keyId?: string; serviceAccount?: string },
  version: number,
): Promise<string[]> {
  const rows = await transaction
    .updateTable('keys.project_keys')
    .set({ deactivated_at: sql`now()`, version })
    .where('account', '=', of.account)
    .where('deactivated_at', 'is', null)
    .$if(of.keyId !== undefined, (keys) => keys.where('key_id', '=', of.keyId!))
    .$if(of.serviceAccount !== undefined, (keys) => keys.where('service_account', '=', of.serviceAccount!))
    .returning('key_id')
    .execute()
  return rows.map(({ key_id }) => key_id)
}

/** Makes a locked account's change one of these keys, so that its announcement writes their limits again. */
export async function touchKeysWithMonthlyLimits(
  transaction: KeysDatabase,
  account: string,
  version: number,
): Promise<void> {
  await transaction
    .updateTable('keys.project_keys')
    .set({ version })
    .where('account', '=', account)
    .where('deactivated_at', 'is', null)
    .where('monthly_limit', 'is not', null)
    .execute()
}

const LIMITS = sql`json_build_object(
  'expiresAtMs', floor(extract(epoch from expires_at) * 1000)::bigint,
  'models', models,
  'monthlyLimit', monthly_limit,
  'monthlyUnit', monthly_unit,
  'requestsPerMinute', requests_per_minute,
  'tokensPerMinute', tokens_per_minute,
  'createdBy', created_by)`

/** Makes a key outrank the state that the admission store holds. */
export async function raiseKeyVersionTo(database: KeysDatabase, keyId: string, version: number): Promise<void> {
  for (const table of ['keys.project_keys', 'keys.keys'] as const) {
    await database
      .updateTable(table)
      .set({ version: sql`greatest(version, ${version})` })
      .where('key_id', '=', keyId)
      .execute()
  }
}

/** A query for the state of an account's keys with these hashes: those of a project, and their former values. */
export function projectKeysOf(account: RawBuilder<unknown>, hashes: readonly Buffer[]): RawBuilder<unknown> {
  return sql`
    select key_id, hash, version, deactivated_at is null as active, ${LIMITS} as limits, expires_at
    from keys.project_keys where account = ${account} and hash = any(${hashes}::bytea[])
    union all
    select key_id, hash, version, false, null, null
    from keys.replaced_values where account = ${account} and hash = any(${hashes}::bytea[])`
}
