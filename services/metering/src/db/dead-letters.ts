/**
 * Deliveries that failed for a day, and the figures of each channel, for operators.
 */

import { sql } from 'kysely'
import type { MeteringDatabase } from './tables.ts'

interface DeadLetterRow {
  id: number
  channel: string
  recipient: string
  eventId: string
  type: string
  attempts: number
  fault: string | null
  createdAt: Date
  endedAt: Date
}

/** The newest first; `before`: the last id of the page before. */
export async function readDeadLetters(
  database: MeteringDatabase,
  before: number | null,
  atMost: number,
): Promise<DeadLetterRow[]> {
  const { rows } = await sql<DeadLetterRow>`
    select id, channel, recipient, event_id as "eventId", type, attempts, fault, created_at as "createdAt", ended_at as "endedAt"
    from metering.deliveries
    where state = 'dead' and (${before}::bigint is null or id < ${before}::bigint)
    order by id desc limit ${atMost}`.execute(database)
  return rows
}

/** Returns false where no delivery has this id. One that was sent again already stays as it is. */
export async function redeliver(database: MeteringDatabase, id: number): Promise<boolean> {
  const { rows } = await sql`
    update metering.deliveries
    set state = 'waiting', attempts = 0, since = now(), due_at = now(), ended_at = null
    where id = ${id} and state = 'dead' returning id`.execute(database)
  return rows.length > 0 || isKnown(database, id)
}

export async function isKnown(database: MeteringDatabase, id: number): Promise<boolean> {
  const { rows } = await sql`select from metering.deliveries where id = ${id}`.execute(database)
  return rows.length > 0
}

interface DeliveryCounts {
  channel: string
  waiting: number
  oldest: Date | null
  dead: number
}

export async function countDeliveries(database: MeteringDatabase): Promise<DeliveryCounts[]> {
  const { rows } = await sql<DeliveryCounts>`
    select channel, count(*) filter (where state = 'waiting') as waiting,
      min(since) filter (where state = 'waiting') as oldest, count(*) filter (where state = 'dead') as dead
    from metering.deliveries where state in ('waiting', 'dead') group by channel`.execute(database)
  return rows
}

interface DisabledChannel {
  channel: string
  fingerprint: string
  disabledAt: Date
}

export function readDisabled(database: MeteringDatabase): Promise<DisabledChannel[]> {
  return database
    .selectFrom('metering.disabled_webhooks')
    .select(['channel', 'fingerprint', 'disabled_at as disabledAt'])
    .execute()
}

export async function enableChannel(database: MeteringDatabase, channel: string): Promise<void> {
  await database.deleteFrom('metering.disabled_webhooks').where('channel', '=', channel).execute()
}
