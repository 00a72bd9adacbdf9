import { setTimeout as sleep } from 'node:timers/promises'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { accountKeyEvent, type AccountKeyEvent } from '@gateway/contracts/account-events'
import { accountStream, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, openKeysService, type TestKeys, minted } from '../test/keys-service.ts'
import { call } from '../test/projects.ts'
import { noteExpiringKeys } from './db/events.ts'
import { revokeKey, rotateKey } from './handlers/developer-keys.ts'
import { mintGuest } from './handlers/mint-guest.ts'
import { publishEvents } from './publish-events.ts'

const OWNER = { issuer: 'https://id.example', subject: 'alice' }
const DAY_S = 86_400

let postgres: PostgresServer
let keys: TestKeys
let running: AsyncDisposableStack
let reported: AccountKeyEvent[]
let project_id: string
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  keys = running.use(await openKeysService(postgres))
  reported = []
  project_id = (await call(keys, 'projects.create', { name: 'search' })).id
})
afterEach(() => running.disposeAsync())

async function publish(): Promise<void> {
  const hub = createMemoryHub({ streams: [{ ...accountStream, consumers: ['operator'] }] })
  const bus = running.use(await openMemoryBus({ hub }))
  await bus.durable.consume({
    ...{ stream: accountStream.name, subject: subjects.accountKey, consumer: 'operator', maxBatch: 10 },
    handler: async (batch) => {
      reported.push(...batch.map(({ payload }) => accountKeyEvent.parse(JSON.parse(Buffer.from(payload).toString()))))
    },
  })
  running.use(publishEvents({ ...keys, bus }))
}

const createKey = (more: object = {}) => call(keys, 'apiKeys.create', { project_id, name: 'nightly', ...more })
const idOf = (key: { id: string }) => key.id.slice('key_'.length)
const changesOf = (keyId: string) => reported.filter((event) => event.keyId === keyId).map(({ change }) => change)

test('a key of a project is reported when it is created, rotated and revoked', async () => {
  await publish()
  const key = await createKey()
  await call(keys, 'apiKeys.rotate', { project_id, api_key_id: key.id })
  await call(keys, 'apiKeys.patch', { project_id, api_key_id: key.id, max_requests_per_1_minute: 5 })
  await call(keys, 'apiKeys.delete', { project_id, api_key_id: key.id })
  await expect.poll(() => changesOf(idOf(key))).toEqual(['created', 'rotated', 'revoked'])
  const facts = { accountKind: 'project', projectName: 'search', name: 'nightly', expiresAt: null }
  expect(reported[0]).toMatchObject({ v: 1, account: project_id.slice(5), ...facts })
  expect(JSON.stringify(reported)).not.toContain(key.value)
})

test('archiving a project reports the end of each of its keys', async () => {
  const created = [await createKey(), await createKey(), await createKey()]
  await call(keys, 'projects.archive', { project_id })
  await publish()
  for (const key of created) await expect.poll(() => changesOf(idOf(key))).toEqual(['created', 'revoked'])
})

test('keys of developers are reported too, and those of guests are not', async () => {
  const first = await minted(keys, { owner: OWNER })
  await minted(keys, { owner: OWNER })
  const second = await rotateKey(keys, { owner: OWNER, keyHash: hashOf(first.key) })
  if (second.kind !== 'rotated') throw new Error(second.kind)
  await revokeKey(keys, { owner: OWNER, keyHash: hashOf(second.key) })
  await mintGuest(keys, { deviceId: 'device', clientNetwork: '203.0.113.7' })
  await publish()
  await expect.poll(() => reported.length).toBe(4)
  expect(reported.map(({ change }) => change).toSorted()).toEqual(['created', 'created', 'revoked', 'revoked'])
  expect(new Set(reported.map(({ accountKind }) => accountKind))).toEqual(new Set(['developer']))
})

test('a key that expires soon is reported once, and again when its expiry moves', async () => {
  const soon = await createKey({ expires_in_seconds: 30 * DAY_S })
  const far = await createKey({ expires_in_seconds: 30 * DAY_S })
  const short = await createKey({ expires_in_seconds: 3_600 })
  const ageBy = (key: { id: string }, days: number) =>
    keys.database.query(
      `update keys.project_keys set created_at = created_at - $2 * interval '1 day', expires_at = expires_at - $2 * interval '1 day'
       where key_id = $1`,
      [idOf(key), days],
    )
  await ageBy(soon, 24)
  await ageBy(far, 22)
  await noteExpiringKeys(keys.database)
  await noteExpiringKeys(keys.database)
  await publish()
  await expect.poll(() => changesOf(idOf(soon))).toEqual(['created', 'expiring'])
  const input = { project_id, api_key_id: soon.id, expires_in_seconds: 2 * DAY_S }
  await call(keys, 'apiKeys.patch', input)
  await noteExpiringKeys(keys.database)
  await expect.poll(() => changesOf(idOf(soon))).toEqual(['created', 'expiring', 'expiring'])
  expect(changesOf(idOf(far))).toEqual(['created'])
  expect(changesOf(idOf(short))).toEqual(['created'])
})

test('the events of an account are stored in their order, however long each takes and however many processes publish', async () => {
  const others = [
    await call(keys, 'projects.create', { name: 'ads' }),
    await call(keys, 'projects.create', { name: 'maps' }),
  ]
  const projects = [project_id, ...others.map(({ id }) => id)]
  const wanted = new Map<string, string[]>(projects.map((project) => [project.slice(5), []]))
  for (let round = 0; round < 4; round++) {
    for (const project of projects) {
      const key = await call(keys, 'apiKeys.create', { project_id: project, name: `of round ${round}` })
      await call(keys, 'apiKeys.rotate', { project_id: project, api_key_id: key.id })
      await call(keys, 'apiKeys.delete', { project_id: project, api_key_id: key.id })
      for (const change of ['created', 'rotated', 'revoked'])
        wanted.get(project.slice(5))!.push(`${idOf(key)} ${change}`)
    }
  }
  const stored: AccountKeyEvent[] = []
  const bus = running.use(await openMemoryBus({ hub: createMemoryHub() }))
  const durable = {
    ...bus.durable,
    async publish(_subject: string, payload: Uint8Array) {
      await sleep(Math.random() * 10)
      stored.push(accountKeyEvent.parse(JSON.parse(Buffer.from(payload).toString())))
    },
  }
  const slow = Object.create(bus, { durable: { value: durable } }) as typeof bus
  for (let process = 0; process < 3; process++) running.use(publishEvents({ ...keys, bus: slow }))
  const ofAccount = (tag: string) =>
    stored.filter(({ account }) => account === tag).map(({ keyId, change }) => `${keyId} ${change}`)
  await expect.poll(() => stored.length).toBe(36)
  for (const [tag, events] of wanted) expect(ofAccount(tag)).toEqual(events)
})

test('the events of a key are stored in the order of its changes, also where the later change began first', async () => {
  const key = await createKey()
  await keys.database.transaction().execute(async (transaction) => {
    await sql`select now()`.execute(transaction)
    await call(keys, 'apiKeys.rotate', { project_id, api_key_id: key.id })
    await sql`
      update keys.project_keys set deactivated_at = now(), version = version + 1 where key_id = ${idOf(key)}`.execute(
      transaction,
    )
  })
  await publish()
  await expect.poll(() => changesOf(idOf(key))).toEqual(['created', 'rotated', 'revoked'])
})

test('the next process publishes the events that this one could not', async () => {
  const key = await createKey()
  {
    const withoutStream = running.use(await openMemoryBus({ hub: createMemoryHub() }))
    await using _failing = publishEvents({ ...keys, bus: withoutStream })
  }
  await publish()
  await expect.poll(() => changesOf(idOf(key))).toEqual(['created'])
})
