/**
 * PostgreSQL killed between the commit of a batch of the ledger and its confirmation. A commit that waits for a standby
 * which does not exist is durable and unconfirmed.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from '../stage/open-stage.ts'
import { killedAndGone } from './processes.ts'

const LOOK_EVERY_MS = 5
/** Batches come several times a second. */
const COMMITS_WITHIN_MS = 10_000

export async function killedInCommit(stage: Stage): Promise<void> {
  const { database, folder } = stage
  const settings = join(folder, 'cluster', 'postgres', 'data', 'postgresql.auto.conf')
  const before = await readFile(settings)
  await database.query(`alter system set synchronous_standby_names = 'nobody'`)
  await database.query('select pg_reload_conf()')
  const deadlineMs = Date.now() + COMMITS_WITHIN_MS
  while (!(await hasUnacknowledgedCommit(stage))) {
    if (Date.now() > deadlineMs) throw new Error('metering did not commit anything')
    await sleep(LOOK_EVERY_MS)
  }
  await killedAndGone(stage, 'postgres')
  // The next one is to confirm its commits.
  await writeFile(settings, before)
}

async function hasUnacknowledgedCommit({ database }: Stage): Promise<boolean> {
  const { rows } = await database.query<{ waits: boolean }>(
    `select exists (
       select from pg_stat_activity where wait_event = 'SyncRep' and application_name = 'metering'
     ) as waits`,
  )
  return rows[0]!.waits
}
