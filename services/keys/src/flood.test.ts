/**
 * Nobody anonymous takes keys down: floods of guest mints and of made-up keys, on a real PostgreSQL that is made slow.
 */

import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { parseKey } from '@gateway/contracts/api-key'
import { mintedKey, revokeKeyReply } from '@gateway/contracts/developer-keys-api'
import { fillReply } from '@gateway/contracts/keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { openConfigSource } from '@gateway/config/config-source'
import { createLogger } from '@gateway/telemetry/logger'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, MASTER_SECRET } from '../test/keys-service.ts'
import { startKeys, URGENT_CONNECTIONS } from './start.ts'

let postgres: PostgresServer
let running: AsyncDisposableStack
let parts: Awaited<ReturnType<typeof openParts>>
/** The test's own connection. */
let besides: Database
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  parts = await openParts()
  running.use(await startKeys({ ...parts, masterSecret: MASTER_SECRET }))
})
afterEach(() => running.disposeAsync())

async function openParts() {
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  const urgent = running.use(await openDatabase(databaseUrl, { poolSize: URGENT_CONNECTIONS }))
  besides = running.use(await openDatabase(databaseUrl, { poolSize: 1 }))
  const logger = createLogger({ service: 'keys', level: 'silent' })
  const bus = running.use(await openMemoryBus({ hub: createMemoryHub() }))
  const config = running.use(await openConfigSource({ logger }))
  return { bus, databaseUrl, database, urgent, logger, config, admission: running.use(openMemoryAdmission()) }
}

/** A request waits for five seconds, as an edge's does. */
async function request(subject: string, question: object): Promise<unknown> {
  const reply = await parts.bus.request(subject, Buffer.from(JSON.stringify(question)), { timeoutMs: 5_000 })
  return JSON.parse(Buffer.from(reply).toString())
}

const ownerOf = (index: number) => ({ issuer: 'https://id.example', subject: `developer-${index}` })
const mintFor = async (index: number) =>
  mintedKey.parse(await request(subjects.keysMint, { owner: ownerOf(index) })).key
const fillFor = async (key: string) =>
  fillReply.parse(await request(subjects.keysFill, { account: parseKey(key)!.accountTag, keyHash: hashOf(key) }))

/** Each lock of a network's log is held for so much longer. */
async function holdNetworkLogs(seconds: number): Promise<void> {
  await besides.query(`create function keys.hold_on() returns trigger language plpgsql as $$
    begin perform pg_sleep(${seconds}); return new; end $$;
    create trigger hold_on before insert or update on keys.guest_networks for each row execute function keys.hold_on()`)
}

interface Flood {
  /** The number of sent requests. */
  sent: number
  replies: Map<string, number>
  stop(): Promise<void>
}

/** Sends requests at this rate, without waiting for the replies. */
function flood(perSecond: number, send: (index: number) => Promise<{ kind: string }>): Flood {
  const replies = new Map<string, number>()
  const pending = new Set<Promise<void>>()
  const count = (kind: string) => void replies.set(kind, (replies.get(kind) ?? 0) + 1)
  const startedAtMs = performance.now()
  const running: Flood = {
    sent: 0,
    replies,
    async stop() {
      clearInterval(timer)
      await Promise.all(pending)
    },
  }
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAtMs) / 1_000) * perSecond
    while (running.sent < due) {
      const reply = send(running.sent++).then(
        ({ kind }) => count(kind),
        () => count('failed'),
      )
      pending.add(reply)
      void reply.finally(() => pending.delete(reply))
    }
  }, 5)
  return running
}

async function tookMs(action: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now()
  await action()
  return performance.now() - startedAtMs
}

/**
 * The work of a revoke on a connection that nobody else uses: it measures the machine's present speed. A revoke is slower only
 * while it waits for others.
 */
async function sameWorkAlone(): Promise<void> {
  await besides.transaction().execute(async (transaction) => {
    for (let statement = 0; statement < 6; statement++) {
      await sql`update keys.accounts set version = version where tag = 'nobody'`.execute(transaction)
    }
  })
  for (let statement = 0; statement < 4; statement++) await besides.query('select from keys.outbox')
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

const mintGuest = (clientNetwork: string) => (index: number) =>
  request(subjects.keysMintGuest, { deviceId: `made-up-${index}`, clientNetwork }) as Promise<{ kind: string }>
const fillMadeUp = () =>
  request(subjects.keysFill, {
    account: randomBytes(4).toString('hex'),
    keyHash: randomBytes(32).toString('base64url'),
  }) as Promise<{ kind: string }>

test('2,000 mints a second of one network, and as many made-up keys, hold up no revoke and no live key', async () => {
  const developers = Array.from({ length: 8 }, (_, index) => index)
  const held = await Promise.all(developers.map(mintFor))
  await holdNetworkLogs(0.02)
  const mints = flood(2_000, mintGuest('203.0.113.7'))
  const madeUp = flood(2_000, fillMadeUp)
  await sleep(1_500)
  const waits: { revoke: number; fill: number; alone: number }[] = []
  const useAndRevoke = async (index: number) => {
    const key = held[index]!
    const fill = await tookMs(async () => expect(await fillFor(key)).toMatchObject({ kind: 'filled' }))
    const revoke = await tookMs(async () => {
      const reply = await request(subjects.keysRevoke, { owner: ownerOf(index), keyHash: hashOf(key) })
      expect(revokeKeyReply.parse(reply)).toMatchObject({ kind: 'revoked' })
    })
    waits.push({ revoke, fill, alone: await tookMs(sameWorkAlone) })
    await sleep(100)
  }
  for (const index of developers.slice(0, 4)) await useAndRevoke(index)
  await expect.poll(() => mints.replies.get('limited') ?? 0).toBeGreaterThan(1_000)
  for (const index of developers.slice(4)) await useAndRevoke(index)
  await Promise.all([mints.stop(), madeUp.stop()])
  expect(median(waits.map(({ revoke, alone }) => revoke - alone))).toBeLessThan(2_500)
  expect(median(waits.map(({ fill, alone }) => fill - alone))).toBeLessThan(2_500)
  expect(mints.replies.get('minted')).toBe(20)
  // Those that come before the cap is reached wait for each other; beyond a hundred they are refused.
  expect([...mints.replies.keys()].toSorted()).toEqual(['busy', 'limited', 'minted'])
  expect(Object.fromEntries(madeUp.replies)).toEqual({ unknown: madeUp.sent })
})

test('thousands of networks that mint at once hold up no revoke; those beyond the queue are refused at once', async () => {
  const key = await mintFor(0)
  await holdNetworkLogs(0.02)
  const mints = flood(2_000, (index) => mintGuest(`198.51.${index >> 8}.${index & 255}`)(index))
  await sleep(2_000)
  const waits: number[] = []
  // A key that is dead already is announced again, with all the work of the first time.
  for (let times = 0; times < 5; times++) {
    const revoke = await tookMs(() => request(subjects.keysRevoke, { owner: ownerOf(0), keyHash: hashOf(key) }))
    waits.push(revoke - (await tookMs(sameWorkAlone)))
  }
  await mints.stop()
  expect(median(waits)).toBeLessThan(2_500)
  expect([...mints.replies.keys()].toSorted()).toEqual(['busy', 'minted'])
})
