/**
 * Notices backends that are taken out and that come back, by the view that all routers have together. Each change is one event, with
 * any number of routers. One process at a time looks, and only while a webhook wants the events. A backend that was out for less than
 * the pause between two looks may pass unnoticed.
 */

import type { Bus } from '@gateway/bus/port'
import { rpcClient } from '@gateway/rpc/client'
import { repeat } from '@gateway/service/repeat'
import { sql } from 'kysely'
import { type BackendChange, backendChanges } from '../core/backend-changes.ts'
import { backendMessage } from '../core/webhook-messages.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { type EventsContext, makeDeliveries } from './take-events.ts'

const LOOK_EVERY_MS = 5_000
const TIMEOUT_MS = 3_000

export function watchBackends(bus: Bus, context: EventsContext, everyMs = LOOK_EVERY_MS): AsyncDisposable {
  const isWanted = () =>
    context.webhooks().some(({ events }) => events.includes('backend.ejected') || events.includes('backend.restored'))
  return repeat(async () => {
    try {
      if (isWanted()) await look(bus, context)
    } catch (error) {
      // Without routers nobody knows the backends.
      context.logger.debug({ err: error }, 'the backends could not be watched; they will be')
    }
    return everyMs
  })
}

/** The states and the deliveries are one transaction. */
function look(bus: Bus, context: EventsContext): Promise<void> {
  return context.database.transaction().execute(async (transaction) => {
    if (!(await isFirst(transaction))) return
    const reply = await rpcClient('metering', bus).request('routersShow', {}, { timeoutMs: TIMEOUT_MS })
    const out = await transaction
      .selectFrom('metering.backend_states')
      .select('backend')
      .where('is_out', '=', true)
      .execute()
    const changes = backendChanges(new Set(out.map(({ backend }) => backend)), reply)
    for (const change of changes) {
      const number = await noteChange(transaction, change)
      const message = backendMessage(change, number, new Date().toISOString())
      await makeDeliveries({ ...context, database: transaction }, { message, mail: null })
    }
  })
}

async function isFirst(transaction: MeteringDatabase): Promise<boolean> {
  const { rows } = await sql<{ first: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended('metering.backend_states', 0)) as first`.execute(transaction)
  return rows[0]?.first ?? false
}

/** Returns the number of its changes. */
async function noteChange(transaction: MeteringDatabase, { backend, isOut }: BackendChange): Promise<number> {
  const { changes } = await transaction
    .insertInto('metering.backend_states')
    .values({ backend, is_out: isOut, changes: 1 })
    .onConflict((conflict) =>
      conflict
        .column('backend')
        .doUpdateSet({ is_out: isOut, changes: sql<number>`metering.backend_states.changes + 1` }),
    )
    .returning('changes')
    .executeTakeFirstOrThrow()
  return changes
}
