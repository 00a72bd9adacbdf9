/**
 * Events that wait for the stream. Each writer inserts its row in the transaction of the change.
 */

import { sql } from 'kysely'
import type { KeysDatabase } from './tables.ts'

export interface WaitingEvent {
  id: string
  kind: 'spend_alert' | 'key'
  payload: unknown
}

/** The oldest events that are not published. One process publishes at a time; the others get none. */
export async function lockWaitingEvents(transaction: KeysDatabase, atMost: number): Promise<WaitingEvent[]> {
  const { rows } = await sql<{ isFirst: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended('keys.events', 0)) as "isFirst"`.execute(transaction)
  if (!rows[0]?.isFirst) return []
  // Former releases lock rows alone.
  return transaction
    .selectFrom('keys.events')
    .select(['id', 'kind', 'payload'])
    .where('published_at', 'is', null)
    .orderBy('seq')
    .limit(atMost)
    .forUpdate()
    .skipLocked()
    .execute()
}

export async function notePublished(transaction: KeysDatabase, events: readonly WaitingEvent[]): Promise<void> {
  await transaction
    .updateTable('keys.events')
    .set({ published_at: sql`now()` })
    .where('id', '=', sql<string>`any(${events.map(({ id }) => id)}::text[])`)
    .execute()
}

/**
 * Keys expire soon in their last week, and a short-lived one in the second half of its life. Each expiry is noted once. A key that
 * ends meanwhile is noted before its end or not at all.
 */
export async function noteExpiringKeys(database: KeysDatabase): Promise<void> {
  await sql`
    insert into keys.events (id, kind, payload)
    select key.key_id || '.expiring.' || floor(extract(epoch from key.expires_at) * 1000), 'key',
      keys.key_details(key) || jsonb_build_object(
        'change', 'expiring', 'account', key.account, 'accountKind', 'project', 'projectName', project.name,
        'keyId', key.key_id, 'at', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from keys.project_keys key join keys.projects project using (account)
    where key.deactivated_at is null and key.expires_at > now() and key.expires_at <= now() + interval '7 days'
      and now() >= key.created_at + (key.expires_at - key.created_at) / 2
    for share of key skip locked
    on conflict (id) do nothing`.execute(database)
}

/** A row outlives the month of its event, so that a repeated report finds it. */
export async function forgetOldEvents(database: KeysDatabase): Promise<void> {
  await sql`
    delete from keys.events where id in (
      select id from keys.events where published_at < now() - interval '70 days' limit 10000
    )`.execute(database)
}
