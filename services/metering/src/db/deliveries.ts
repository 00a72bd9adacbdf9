/**
 * Deliveries of events to webhooks and by e-mail. A row is there from the transaction that took the event, and stays after its
 * end for longer than the stream keeps the event. So a repeated event finds it.
 *
 * Only the first waiting row of a line is ever claimed. A claim moves `due_at` behind the end of the attempt. After a kill the row
 * is due again by itself.
 */

import { sql } from 'kysely'
import type { NextState } from '../core/delivery-attempts.ts'
import type { MeteringDatabase } from './tables.ts'

export interface NewDelivery {
  channel: string
  recipient: string
  eventId: string
  type: string
  line: string
  payload: string
}

export async function insertDeliveries(database: MeteringDatabase, deliveries: readonly NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return
  await database
    .insertInto('metering.deliveries')
    .values(deliveries.map(({ eventId: event_id, ...delivery }) => ({ ...delivery, event_id })))
    .onConflict((conflict) => conflict.columns(['channel', 'recipient', 'event_id']).doNothing())
    .execute()
}

/** An operator or a changed config makes a channel with another fingerprint, or none is disabled. */
export interface Channel {
  name: string
  fingerprint: string
}

export interface ClaimedDelivery {
  id: number
  recipient: string
  eventId: string
  payload: string
  attempts: number
  ageMs: number
}

/** The first deliveries of their lines that are due. They are this caller's for `heldForMs`. */
export async function claimDeliveries(
  database: MeteringDatabase,
  { name, fingerprint }: Channel,
  atMost: number,
  heldForMs: number,
): Promise<ClaimedDelivery[]> {
  const { rows } = await sql<ClaimedDelivery>`
    with recursive lines (name) as (
      (select line from metering.deliveries where channel = ${name} and state = 'waiting' order by line limit 1)
      union all
      select (
        select line from metering.deliveries
        where channel = ${name} and state = 'waiting' and line > lines.name order by line limit 1
      ) from lines where lines.name is not null
    ), first as (
      select (
        select id from metering.deliveries
        where channel = ${name} and state = 'waiting' and line = lines.name order by id limit 1
      ) as id from lines where lines.name is not null
    ), due as (
      select id from metering.deliveries
      where id in (select id from first) and state = 'waiting' and due_at <= now()
        and not exists (
          select from metering.disabled_webhooks where channel = ${name} and fingerprint = ${fingerprint}
        )
      order by due_at, id limit ${atMost} for update skip locked
    )
    update metering.deliveries as own
    set attempts = attempts + 1, due_at = now() + ${heldForMs}::float8 * interval '1 millisecond'
    from due where own.id = due.id
    returning own.id, recipient, event_id as "eventId", payload, attempts,
      (extract(epoch from now() - since) * 1000)::float8 as "ageMs"`.execute(database)
  return rows
}

/** Changes nothing when the attempt is no longer the last one. */
export async function recordAttempt(
  database: MeteringDatabase,
  { id, attempts }: Pick<ClaimedDelivery, 'id' | 'attempts'>,
  next: Exclude<NextState, { state: 'disabled' }>,
): Promise<void> {
  const delayMs = next.state === 'waiting' ? next.delayMs : 0
  await sql`
    update metering.deliveries
    set state = ${next.state}, fault = ${next.state === 'delivered' ? null : next.fault},
      due_at = now() + ${delayMs}::float8 * interval '1 millisecond',
      ended_at = case when ${next.state} = 'waiting' then null else now() end
    where id = ${id} and attempts = ${attempts} and state = 'waiting'`.execute(database)
}

/** As if the attempt had not been: the process stops, or the webhook is disabled. */
export async function releaseDelivery(
  database: MeteringDatabase,
  { id, attempts }: Pick<ClaimedDelivery, 'id' | 'attempts'>,
): Promise<void> {
  await sql`
    update metering.deliveries set attempts = attempts - 1, due_at = now()
    where id = ${id} and attempts = ${attempts} and state = 'waiting'`.execute(database)
}

export async function disableChannel(
  database: MeteringDatabase,
  { name, fingerprint }: Channel,
  delivery: Pick<ClaimedDelivery, 'id' | 'attempts'>,
): Promise<void> {
  await database.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('metering.disabled_webhooks')
      .values({ channel: name, fingerprint })
      .onConflict((conflict) => conflict.column('channel').doUpdateSet({ fingerprint, disabled_at: sql<Date>`now()` }))
      .execute()
    await releaseDelivery(transaction, delivery)
  })
}

/** Of the deliveries that wait on these channels; null when none does. */
export async function oldestWaitingSeconds(
  database: MeteringDatabase,
  channels: readonly string[],
): Promise<number | null> {
  const { rows } = await sql<{ seconds: number | null }>`
    select extract(epoch from now() - min(since))::float8 as seconds from metering.deliveries
    where state = 'waiting' and channel = any(${channels}::text[])`.execute(database)
  return rows[0]?.seconds ?? null
}

/** For longer than the stream keeps their events. */
const KEPT_DAYS = 35
const ROWS_AT_A_TIME = 10_000

/** Waiting ones are of channels that the config has no more, or that are disabled. */
export async function forgetOldDeliveries(database: MeteringDatabase): Promise<void> {
  await sql`
    delete from metering.deliveries where id in (
      select id from metering.deliveries
      where case when state = 'waiting' then since else ended_at end < now() - ${KEPT_DAYS} * interval '1 day'
      limit ${ROWS_AT_A_TIME}
    )`.execute(database)
}
