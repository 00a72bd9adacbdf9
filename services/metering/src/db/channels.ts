/**
 * The channels that events leave by, webhooks and e-mail, with the time when each was first configured.
 */

import { sql } from 'kysely'
import type { MeteringDatabase } from './tables.ts'

/** The earliest time of a channel holds. */
export async function noteChannels(database: MeteringDatabase, channels: ReadonlyMap<string, Date>): Promise<void> {
  await sql`
    insert into metering.channels as known (channel, configured_at)
    select * from unnest(${[...channels.keys()]}::text[], ${[...channels.values()]}::timestamptz[])
    on conflict (channel) do update set configured_at = excluded.configured_at
    where excluded.configured_at < known.configured_at`.execute(database)
}

/** An event has the time at which its transaction began, by a clock of another machine. */
const ALLOWANCE = '1 minute'

export async function channelsConfiguredBy(database: MeteringDatabase, eventTime: string): Promise<Set<string>> {
  const { rows } = await sql<{ channel: string }>`
    select channel from metering.channels
    where configured_at <= ${eventTime}::timestamptz + ${ALLOWANCE}::interval`.execute(database)
  return new Set(rows.map(({ channel }) => channel))
}
