/**
 * Two processes of metering record usage, export it to a folder and push it to a collector of events. One after the other is killed with
 * SIGKILL at each step. Every row of the ledger stands in the files once and counts once at the collector, and the sums are the ledger's.
 */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openNatsBus } from '@gateway/bus/nats'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import type { UsageBatch } from '@gateway/contracts/usage-event'
import { openDatabase } from '@gateway/postgres/database'
import { startNats, startPostgres, startRedis } from '@gateway/servers/start'
import { expect, test } from 'vitest'
import { startCollector, summarizeEvents } from '../services/metering/test/collector.ts'
import { readExported, summarize, summarizeLedger } from '../services/metering/test/exported.ts'
import { usageEvent } from '../services/metering/test/usage-events.ts'
import { killProcess, startMetering } from './promises/metering-process.ts'

/** Places at which a process dies. */
const STEPS = [
  'metering.reports-recorded',
  'metering.export-part-made',
  'metering.export-file-synced',
  'metering.export-file-written',
  'metering.events-pushed',
]
const EVENTS_PER_ROUND = 20
const DAY_MS = 24 * 3_600_000

test('metering killed at any step of an export leaves each row of the ledger in the files and at the collector once', async () => {
  await using running = new AsyncDisposableStack()
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()])
  for (const server of [nats, redis, postgres]) running.use(server)
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  const folder = await mkdtemp(join(tmpdir(), 'gateway-exports-killed-'))
  running.defer(() => rm(folder, { recursive: true, force: true }))
  const [config, failpoints, files] = ['gateway.yaml', 'failpoints', 'files'].map((name) => join(folder, name))
  await mkdir(failpoints!)
  await mkdir(files!)
  const collector = running.use(await startCollector())
  const pushes = { to: collector.url, format: 'cloudevents', token: '${COLLECTOR_TOKEN}', allowPrivate: true }
  const exports = [{ to: pathToFileURL(files!).href, format: 'ndjson' }, pushes]
  await writeFile(config!, JSON.stringify({ exports }))
  const environment = {
    COLLECTOR_TOKEN: collector.token,
    ...{ NATS_URL: nats.url, REDIS_URL: redis.url, DATABASE_URL: databaseUrl },
    ...{ GATEWAY_CONFIG: config!, FAILPOINTS: failpoints! },
  }
  const processes = [startMetering(environment, 'fatal'), startMetering(environment, 'fatal')]
  running.defer(async () => void (await Promise.all(processes.map(killProcess))))
  const bus = running.use(await openNatsBus({ url: nats.url, name: 'test', streams: [usageStream] }))

  let published = 0
  const publish = async () => {
    const startedAtMs = Date.now() - DAY_MS
    const window = new Date(startedAtMs).toISOString().slice(0, 7)
    const batch = { v: 1, events: [usageEvent({ startedAtMs, window, tokens: 50 + published++ })] } satisfies UsageBatch
    await bus.durable.publish(subjects.usage, Buffer.from(JSON.stringify(batch)), { timeoutMs: 30_000 })
  }
  // A lease lapses after a minute, and rows of today wait for the day's end: nobody waits for that here.
  const hurry = () =>
    database.query(
      `update metering.exports set leased_until = '-infinity', run_requested_at = coalesce(run_requested_at, now()) returning id`,
    )
  const begun = async () => (await hurry().catch(() => null))?.rows.length === 2
  await until('the export has begun', begun)

  for (const step of [...STEPS, ...STEPS]) {
    await writeFile(join(failpoints!, step), '')
    for (let event = 0; event < EVENTS_PER_ROUND; event++) await publish()
    const dead = () => processes.findIndex(({ signalCode }) => signalCode !== null)
    await until(`a process dies at ${step}`, async () => (await hurry(), dead() >= 0))
    processes[dead()] = startMetering(environment, 'fatal')
  }

  const ledger = () => summarizeLedger(database)
  await until('every report is a row', async () => Object.keys((await ledger()).originals).length === published)
  const exported = async () => summarize(await readExported(files!))
  await until('every row is in a file', async () => {
    await hurry()
    return Object.keys((await exported()).originals).length === published
  })
  expect(await exported()).toEqual(await ledger())
  await until('every row is at the collector', async () => {
    await hurry()
    return collector.events.size === published
  })
  expect(summarizeEvents(collector)).toEqual(await ledger())
  expect(collector.refused).toEqual([])
})

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  await expect.poll(isTrue, { timeout: 120_000, interval: 100, message: what }).toBe(true)
}
