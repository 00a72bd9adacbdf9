/**
 * Looks for rows that wait for any process of keys: changes that are not announced, thresholds and events that are not published. One
 * query a second looks for all of them, and their workers sleep until it finds some. It reads the controls of backends, too, which
 * routers follow.
 *
 * A row that a look missed is found by the next one. So workers look once themselves before they sleep. While the database is away,
 * nothing is found, and the log says so.
 */

import type { Bus } from '@gateway/bus/port'
import { rpcClient } from '@gateway/rpc/client'
import type { Logger } from '@gateway/telemetry/logger'
import { repeat } from '@gateway/service/repeat'
import { sql } from 'kysely'
import { CONTROLS, type Controls } from './db/backend-controls.ts'
import type { KeysDatabase } from './db/tables.ts'

const LOOK_EVERY_MS = 1_000

export const WORK = ['changes', 'thresholds', 'events'] as const
export type Work = (typeof WORK)[number]

export interface DueWork extends AsyncDisposable {
  /** Resolves when a later look has found such work, or when the worker stops. */
  found(work: Work, stopping: AbortSignal): Promise<void>
}

interface Looking {
  bus: Bus
  /** No other query takes all of its connections, so that a revocation is found in time. */
  urgent: KeysDatabase
  logger: Logger
}

export function openDueWork({ bus, urgent, logger }: Looking, everyMs = LOOK_EVERY_MS): DueWork {
  const keys = rpcClient('keys', bus)
  const sleeping: Record<Work, Set<() => void>> = { changes: new Set(), thresholds: new Set(), events: new Set() }
  const looking = repeat(async () => {
    try {
      const { controls, readAtMs, ...due } = await look(urgent)
      keys.publish('keysControls', { controls, readAtMs })
      for (const work of WORK) if (due[work]) for (const wake of sleeping[work]) wake()
    } catch (error) {
      logger.warn({ err: error }, 'work that is due could not be looked for; it will be')
    }
    return everyMs
  })

  return {
    async found(work, stopping) {
      if (stopping.aborted) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const wake = () => resolve()
      sleeping[work].add(wake)
      stopping.addEventListener('abort', wake)
      await promise
      sleeping[work].delete(wake)
      stopping.removeEventListener('abort', wake)
    },
    [Symbol.asyncDispose]: () => looking[Symbol.asyncDispose](),
  }
}

async function look(database: KeysDatabase): Promise<Record<Work, boolean> & Controls> {
  const { rows } = await sql<Record<Work, boolean> & Controls>`
    select
      exists (select from keys.outbox where next_try_at <= now())
        or exists (select from keys.project_outbox where next_try_at <= now()) as changes,
      exists (select from keys.thresholds where announced_at is null) as thresholds,
      exists (select from keys.events where published_at is null) as events,
      ${CONTROLS}`.execute(database)
  return rows[0]!
}
