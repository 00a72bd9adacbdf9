/**
 * Sabotages a run: every gateway process loads the change, and the ledger loses its key where that is the point.
 */

import type { Database } from '@gateway/postgres/database'
import type { ProcessPlan } from '@gateway/testing/cluster/supervise'
import { withPreload } from '../stage/preload.ts'
import type { Sabotage } from './sabotages.ts'

/** From the start of the processes: after the first requests, and before the last. */
const MINUTE_TURNS_AFTER_MS = 20_000

export function sabotaged(plan: ProcessPlan, sabotage: Sabotage): ProcessPlan {
  return withPreload(plan, `${import.meta.dirname}/preload.ts`, {
    CHAOS_SABOTAGE: sabotage,
    CHAOS_MINUTE_TURNS_AT_MS: String(Date.now() + MINUTE_TURNS_AFTER_MS),
  })
}

export async function sabotageLedger(database: Database, sabotage: Sabotage): Promise<void> {
  if (sabotage === 'no-unique-key') await database.query('alter table metering.ledger drop constraint ledger_pkey')
}
