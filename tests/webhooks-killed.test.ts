/**
 * Two processes of metering deliver webhooks. One after the other is killed with SIGKILL at each step of a delivery, and the receiver
 * fails now and then. Every event arrives at least once, under one id, and those of a project in order.
 */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openNatsBus } from '@gateway/bus/nats'
import type { AccountKeyEvent } from '@gateway/contracts/account-events'
import { accountStream, subjects } from '@gateway/contracts/subjects'
import { openDatabase } from '@gateway/postgres/database'
import { startNats, startPostgres, startRedis } from '@gateway/servers/start'
import { expect, test } from 'vitest'
import { type Delivery, SECRET, startReceiver } from '../services/metering/test/webhook-receiver.ts'
import { killProcess, startMetering } from './promises/metering-process.ts'

/** Places at which a process dies. */
const STEPS = ['metering.deliveries-made', 'metering.delivery-claimed', 'metering.delivery-sent']
const PROJECTS = 4
const EVENTS_PER_ROUND = 12

test('metering killed at any step of a delivery loses no event and keeps the order of each project', async () => {
  await using running = new AsyncDisposableStack()
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()])
  for (const server of [nats, redis, postgres]) running.use(server)
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  const folder = await mkdtemp(join(tmpdir(), 'gateway-webhooks-'))
  running.defer(() => rm(folder, { recursive: true, force: true }))
  const receiver = running.use(await startReceiver())
  const config = join(folder, 'gateway.yaml')
  await writeFile(
    config,
    JSON.stringify({ webhooks: [{ url: receiver.url, secret: '${HOOK_SECRET}', allowPrivate: true }] }),
  )
  const failpoints = join(folder, 'failpoints')
  await mkdir(failpoints)
  const environment = {
    ...{ NATS_URL: nats.url, REDIS_URL: redis.url, DATABASE_URL: databaseUrl, GATEWAY_CONFIG: config },
    ...{ HOOK_SECRET: SECRET, FAILPOINTS: failpoints },
  }
  const processes = [startMetering(environment, 'fatal'), startMetering(environment, 'fatal')]
  running.defer(async () => void (await Promise.all(processes.map(killProcess))))
  const streams = [accountStream]
  const bus = running.use(await openNatsBus({ url: nats.url, name: 'test', streams }))
  let attempts = 0
  receiver.behave = (response) => {
    if (++attempts % 5 !== 0) return undefined
    response.writeHead(503).end()
    return 'handled'
  }

  let published = 0
  const publish = () => bus.durable.publish(subjects.accountKey, encode(eventOf(published++)), { timeoutMs: 30_000 })
  // Claims lapse after half a minute, failed attempts are due again after seconds: nobody waits for that here.
  const hurry = () => database.query(`update metering.deliveries set due_at = now() where state = 'waiting'`)
  await until('metering has made its tables', async () =>
    hurry().then(
      () => true,
      () => false,
    ),
  )

  for (const step of [...STEPS, ...STEPS]) {
    await writeFile(join(failpoints, step), '')
    for (let event = 0; event < EVENTS_PER_ROUND; event++) await publish()
    const dead = () => processes.findIndex(({ signalCode }) => signalCode !== null)
    await until(`a process dies at ${step}`, async () => (await hurry(), dead() >= 0))
    processes[dead()] = startMetering(environment, 'fatal')
  }

  const distinct = () => new Set(receiver.received.map(({ data }) => data['key_id'])).size
  await until('every event has arrived', async () => (await hurry(), distinct() === published))
  const states = async () => (await database.query(`select from metering.deliveries where state <> 'delivered'`)).rows
  await until('nothing waits', async () => (await hurry(), (await states()).length === 0))
  for (let project = 0; project < PROJECTS; project++) {
    const wanted = Array.from({ length: published }, (_, number) => eventOf(number)).filter(
      ({ account }) => account === accountOf(project),
    )
    expect(firstArrivals(receiver.received, project)).toEqual(wanted.map(({ keyId }) => keyId))
  }
  const ids = Map.groupBy(receiver.attempted, ({ data }) => data['key_id'])
  for (const [, deliveries] of ids) expect(new Set(deliveries.map(({ id }) => id)).size).toBe(1)
  expect(receiver.refused).toEqual([])
})

function accountOf(project: number): string {
  return `acct000${project}`
}

function eventOf(number: number): AccountKeyEvent {
  return {
    ...{ v: 1, id: `key${number}.created`, change: 'created', account: accountOf(number % PROJECTS) },
    ...{ accountKind: 'project', projectName: null, keyId: `key${number}`, at: new Date().toISOString() },
  }
}

function encode(event: AccountKeyEvent): Uint8Array {
  return Buffer.from(JSON.stringify(event))
}

function firstArrivals(received: readonly Delivery[], project: number): unknown[] {
  const own = received.filter(({ data }) => data['project_id'] === `proj_${accountOf(project)}`)
  return [...new Set(own.map(({ data }) => data['key_id']))]
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  await expect.poll(isTrue, { timeout: 120_000, interval: 100, message: what }).toBe(true)
}
