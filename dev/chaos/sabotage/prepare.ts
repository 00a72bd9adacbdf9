/**
 * Sabotages a run: every gateway process loads the change, and the ledger loses its key where that is the point.
 */

import type { Database } from '@gateway/postgres/database'
import type { ProcessPlan } from '@gateway/cluster/supervise'
import { commandRedis } from '@gateway/testing/redis-command'
import { withPreload } from '../stage/preload.ts'
import { MINUTE_TURNED_KEY, type Sabotage } from './sabotages.ts'

export function sabotaged(plan: ProcessPlan, sabotage: Sabotage): ProcessPlan {
  return withPreload(plan, `${import.meta.dirname}/preload.ts`, { CHAOS_SABOTAGE: sabotage })
}

export async function sabotageLedger(database: Database, sabotage: Sabotage): Promise<void> {
  if (sabotage === 'no-unique-key') await database.query('alter table metering.ledger drop constraint ledger_pkey')
}

/** A minute turns when half of the requests have been sent, however long that takes. */
export async function sabotageHalfway(redisUrl: string, halfway: () => Promise<void>, sabotage: Sabotage) {
  if (sabotage !== 'counted-minutes') return
  await halfway()
  await commandRedis(redisUrl, 'SET', MINUTE_TURNED_KEY, String(Date.now() * 1_000))
}
