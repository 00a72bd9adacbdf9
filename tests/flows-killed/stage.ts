/**
 * A cluster with two processes of each service, for a test that kills all of them. Its events go to a webhook, its ledger to a folder.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Database, openDatabase } from '@gateway/postgres/database'
import { type Receiver, SECRET, startReceiver } from '../../services/metering/test/webhook-receiver.ts'
import { type AdministeredCluster, openAdministered } from '../administration/administered.ts'

export interface Stage extends AdministeredCluster {
  receiver: Receiver
  database: Database
  /** `FAILPOINTS` of all processes. */
  failpoints: string
  /** Of the exported files. */
  files: string
}

export async function openStage(stack: AsyncDisposableStack): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-flows-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const [failpoints, files] = [join(folder, 'failpoints'), join(folder, 'files')]
  await mkdir(failpoints)
  await mkdir(files)
  const receiver = stack.use(await startReceiver())
  const administered = await openAdministered(stack, {
    ...{ edges: 2, routers: 2, keepers: 2 },
    sections: {
      webhooks: [{ url: receiver.url, secret: '${HOOK_SECRET}', allowPrivate: true }],
      exports: [{ id: 'files', to: pathToFileURL(files).href, format: 'ndjson' }],
    },
    environment: { HOOK_SECRET: SECRET, FAILPOINTS: failpoints, LOG_LEVEL: 'fatal' },
  })
  const database = stack.use(await openDatabase(administered.cluster.servers.postgres.url))
  return { ...administered, receiver, database, failpoints, files }
}

/**
 * Claims and leases of the dead lapse after up to a minute, and failed attempts are due again after seconds. Rows of today wait for the
 * end of the day. Nobody waits for that here.
 */
export async function hurry({ database }: Stage): Promise<void> {
  await database.query(`update metering.deliveries set due_at = now() where state = 'waiting'`)
  await database.query(`
    update metering.exports set leased_until = '-infinity', run_requested_at = coalesce(run_requested_at, now())`)
}
