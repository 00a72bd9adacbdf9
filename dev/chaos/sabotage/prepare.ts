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

/** When half of the requests have been sent, however long that takes: a minute turns, or somebody changes the audit log. */
export async function sabotageHalfway(
  { redisUrl, database }: { redisUrl: string; database: Database },
  halfway: () => Promise<void>,
  sabotage: Sabotage,
): Promise<void> {
  if (sabotage !== 'counted-minutes' && sabotage !== 'changed-audit-row') return
  await halfway()
  if (sabotage === 'changed-audit-row') {
    await database.query(
      `update keys.audit_log set entry = replace(entry, '"name":', '"Name":') where type = 'api_key.created'`,
    )
  } else await commandRedis(redisUrl, 'SET', MINUTE_TURNED_KEY, String(Date.now() * 1_000))
}
