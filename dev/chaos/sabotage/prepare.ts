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

/**
 * When a part of the requests has been sent, however long that takes: a minute turns, or somebody changes the audit log. The
 * minute turns three times. An edge that a busy machine keeps from Redis may admit the limit twice, which is no defect.
 */
export async function sabotageMeanwhile(
  { redisUrl, database }: { redisUrl: string; database: Database },
  haveSent: (share: number) => Promise<void>,
  sabotage: Sabotage,
): Promise<void> {
  if (sabotage === 'changed-audit-row') {
    await haveSent(1 / 2)
    await database.query(
      `update keys.audit_log set entry = replace(entry, '"name":', '"Name":') where type = 'api_key.created'`,
    )
  } else if (sabotage === 'counted-minutes') {
    for (const share of [1 / 4, 1 / 2, 3 / 4]) {
      await haveSent(share)
      await commandRedis(redisUrl, 'SET', MINUTE_TURNED_KEY, String(Date.now() * 1_000))
    }
  }
}
