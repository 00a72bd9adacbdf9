/**
 * Writes the exports that the config names, in the background. One process at a time holds an export's lease and writes its files.
 * A file that cannot be written is tried again, and its rows wait in the queue: no row is lost or stands twice.
 */

import { randomUUID } from 'node:crypto'
import type { ConfigSource } from '@gateway/config/config-source'
import { resolveExport } from '@gateway/config/resolve-secrets'
import type { ExportConfig } from '@gateway/contracts/exports'
import { failpoint } from '@gateway/service/failpoint'
import { repeat } from '@gateway/service/repeat'
import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics } from '@gateway/telemetry/metrics'
import { sql } from 'kysely'
import type { MeteringDatabase } from '../db/tables.ts'
import { beginExport, nameExports } from './begin-export.ts'
import { clockAt } from './core/plan-part.ts'
import { type Destination, fileName, openFolder } from './destination.ts'
import { openCollector } from './push-events.ts'
import { openBucket } from './s3.ts'
import { encodeOnThread } from './encode-on-thread.ts'
import { readExports } from './read-exports.ts'
import { completePart, makePart, type Part, readEntries, readPart } from './parts.ts'

export interface ExportSettings {
  config: Pick<ConfigSource, 'current'>
  /** For storage that the config does not place, and the `${NAME}`s in exports. */
  environment: NodeJS.ProcessEnv
}

export interface ExportsContext extends ExportSettings {
  database: MeteringDatabase
  logger: Logger
  metrics: Metrics
  now(): number
  openDestination?: typeof openDestination
  encode?: typeof encodeOnThread
  /** The bound of a file. */
  mostRows?: number
  pauseMs?: number
}

/** Of a file: some ten megabytes in memory while it is written. */
const MOST_ROWS = 50_000
/** Of a push: all of it is repeated after a failure. */
const MOST_PUSHED = 1_000
const PAUSE_MS = 5_000
const LEASE = '60 seconds'
const RENEW_MS = 15_000
const FIRST_RETRY_MS = 5_000
const LAST_RETRY_MS = 300_000

type WriteContext = Omit<ExportsContext, 'config' | 'metrics' | 'pauseMs'>

/** Disposing finishes the file in hand, and leaves the exports to other processes. */
export function keepExports(context: ExportsContext): AsyncDisposable {
  const holder = randomUUID()
  const behind = context.metrics.gauge(
    'gateway_export_behind_seconds',
    'the wait of the rows of an ended day for their file',
    ['export'],
  )
  const failures = new Map<string, { count: number; retryAtMs: number }>()
  const rounds = repeat(async (stopping) => {
    const configured = context.config.current.exports ?? []
    if (configured.length > 0) await nameExports(context.database, idsOf(configured)).catch(noteFault)
    for (const config of configured) {
      const failed = failures.get(config.id)
      if (stopping.aborted || (failed && performance.now() < failed.retryAtMs)) continue
      try {
        await writeExport(context, config, { holder, stopping })
        failures.delete(config.id)
      } catch (error) {
        const count = (failed?.count ?? 0) + 1
        const pauseMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (count - 1))
        failures.set(config.id, { count, retryAtMs: performance.now() + pauseMs })
        context.logger.error({ err: error, export: config.id }, 'an export failed; it is tried again')
        await noteFailure(context.database, config.id, error).catch(noteFault)
      }
    }
    if (configured.length > 0) await noteBehind(configured).catch(noteFault)
    return context.pauseMs ?? PAUSE_MS
  })
  return {
    async [Symbol.asyncDispose]() {
      await rounds[Symbol.asyncDispose]()
      await releaseLeases(context.database, holder).catch(noteFault)
    },
  }

  async function noteBehind(configured: readonly ExportConfig[]): Promise<void> {
    for (const { id, behind_seconds: seconds } of await readExports(context.database, configured, context.now())) {
      behind.labels(id).set(seconds)
    }
  }

  function noteFault(error: unknown): void {
    context.logger.warn({ err: error }, 'the state of exports could not be written')
  }
}

const idsOf = (exports: readonly ExportConfig[]) => exports.map(({ id }) => id)

/** Writes all files that are due. Does nothing while another process holds the lease. */
export async function writeExport(
  context: WriteContext,
  config: ExportConfig,
  { holder, stopping }: { holder: string; stopping: AbortSignal },
): Promise<void> {
  const { database, mostRows = MOST_ROWS } = context
  const { id } = config
  const lease = await takeLease(database, id, holder)
  if (lease === null) return
  using _renewing = renewLease(context, id, holder)
  if (!lease.hasBegun) await beginExport(database, id)
  const { queue } = await readQueue(database, id)
  const destination = (context.openDestination ?? openDestination)(config, context.environment)
  const isPush = config.format === 'cloudevents'
  const bounds = { mostRows: isPush ? Math.min(mostRows, MOST_PUSHED) : mostRows, isEager: isPush }
  while (!stopping.aborted) {
    const part = await readPart(database, queue)
    if (part !== null) await writePartFile(context, config, destination, queue, part)
    else if (!(await makePart(database, queue, { ...bounds, clock: clockAt(context.now()) }))) break
    else failpoint('metering.export-part-made')
  }
}

function openDestination(config: ExportConfig, environment: NodeJS.ProcessEnv): Destination {
  if (config.format === 'cloudevents') return openCollector(resolveExport(config, environment))
  return config.to.startsWith('file:') ? openFolder(config.to) : openBucket(config, environment)
}

async function writePartFile(
  { database, encode = encodeOnThread, logger }: WriteContext,
  config: ExportConfig,
  destination: Destination,
  queue: string,
  part: Part,
): Promise<void> {
  const { bytes, ...counts } = await encode(config, readEntries(database, queue, part))
  const file = fileName(config, part)
  await destination.write(file, bytes)
  failpoint('metering.export-file-written')
  const isFirst = await completePart(database, queue, part, { file, ...counts })
  if (isFirst) logger.info({ export: config.id, file, ...counts }, 'a file of an export is complete')
}

interface Lease {
  hasBegun: boolean
}

async function takeLease(database: MeteringDatabase, id: string, holder: string): Promise<Lease | null> {
  const { rows } = await sql<Lease>`
    insert into metering.exports as held (id, queue, leased_by, leased_until)
    values (${id}, ${randomUUID()}, ${holder}, now() + ${LEASE}::interval)
    on conflict (id) do update set leased_by = excluded.leased_by, leased_until = excluded.leased_until
    where held.leased_by = excluded.leased_by or held.leased_until < now()
    returning has_begun as "hasBegun"`.execute(database)
  return rows[0] ?? null
}

function renewLease({ database, logger }: WriteContext, id: string, holder: string): Disposable {
  const renew = () =>
    sql`
      update metering.exports set leased_until = now() + ${LEASE}::interval
      where id = ${id} and leased_by = ${holder}`
      .execute(database)
      .catch((error: unknown) => logger.warn({ err: error }, 'the lease of an export could not be renewed'))
  const timer = setInterval(() => void renew(), RENEW_MS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

async function releaseLeases(database: MeteringDatabase, holder: string): Promise<void> {
  await sql`update metering.exports set leased_until = '-infinity' where leased_by = ${holder}`.execute(database)
}

async function readQueue(database: MeteringDatabase, id: string): Promise<{ queue: string }> {
  const { rows } = await sql<{ queue: string }>`select queue from metering.exports where id = ${id}`.execute(database)
  if (!rows[0]) throw new Error(`the export ${id} was forgotten meanwhile`)
  return rows[0]
}

async function noteFailure(database: MeteringDatabase, id: string, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error)
  await sql`
    update metering.exports set last_error = ${message.replaceAll('\0', '').slice(0, 1_000)}, failed_at = now()
    where id = ${id}`.execute(database)
}
