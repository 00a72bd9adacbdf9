import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { parseKey } from '@gateway/contracts/api-key'
import { keysInvalidated, listKeysReply, mintedKey, type KeysUsed } from '@gateway/contracts/developer-keys-api'
import { mintGuestReply } from '@gateway/contracts/keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { openDatabase } from '@gateway/postgres/database'
import { openConfigSource } from '@gateway/config/config-source'
import { createLogger } from '@gateway/telemetry/logger'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, MASTER_SECRET } from '../test/keys-service.ts'
import { startKeys, URGENT_CONNECTIONS } from './start.ts'

let postgres: PostgresServer
let running: AsyncDisposableStack
let parts: Awaited<ReturnType<typeof openParts>>
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  parts = await openParts()
})
afterEach(() => running.disposeAsync())

async function openParts() {
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  const urgent = running.use(await openDatabase(databaseUrl, { poolSize: URGENT_CONNECTIONS }))
  const logger = createLogger({ service: 'keys', level: 'silent' })
  const bus = running.use(await openMemoryBus({ hub: createMemoryHub() }))
  const config = running.use(await openConfigSource({ logger }))
  return { bus, databaseUrl, database, urgent, logger, config, admission: running.use(openMemoryAdmission()) }
}

const OWNER = { issuer: 'https://id.example', subject: 'alice' }
const DEVICE = { deviceId: 'device-1', clientNetwork: '203.0.113.7' }

async function request(subject: string, question: object): Promise<unknown> {
  const reply = await parts.bus.request(subject, Buffer.from(JSON.stringify(question)), { timeoutMs: 10_000 })
  return JSON.parse(Buffer.from(reply).toString())
}

async function mint(): Promise<string> {
  return mintedKey.parse(await request(subjects.keysMint, { owner: OWNER })).key
}

async function mintGuest(): Promise<string> {
  const reply = mintGuestReply.parse(await request(subjects.keysMintGuest, DEVICE))
  return reply.kind === 'minted' ? reply.key : reply.kind
}

test('a life of a key over the bus: minted, rotated, revoked, listed', async () => {
  running.use(await startKeys({ ...parts, masterSecret: MASTER_SECRET }))
  const cut: string[] = []
  await parts.bus.listen(subjects.keysInvalidated, (word) => {
    cut.push(keysInvalidated.parse(JSON.parse(Buffer.from(word).toString())).reason)
  })
  const first = await mint()
  await request(subjects.keysRotate, { owner: OWNER, keyHash: hashOf(first) })
  await request(subjects.keysRevoke, { owner: OWNER, keyHash: hashOf(await mint()) })
  const { keys } = listKeysReply.parse(await request(subjects.keysList, { owner: OWNER }))
  expect(keys.map(({ status }) => status)).toEqual(['deactivated', 'deactivated'])
  await expect.poll(() => cut).toEqual(['rotated', 'revoked'])
})

test('a malformed request gets an error, and the service goes on', async () => {
  running.use(await startKeys({ ...parts, masterSecret: MASTER_SECRET }))
  await expect(request(subjects.keysMintGuest, { device: 7 })).rejects.toThrow()
  expect(await mintGuest()).toMatch(/^svc_/)
})

test('the list shows when a key was last used', async () => {
  running.use(await startKeys({ ...parts, masterSecret: MASTER_SECRET }))
  const { keyId } = parseKey(await mint())!
  const publish = (usedAtMs: number) => {
    const word: KeysUsed = {
      uses: [
        { keyId, usedAtMs },
        { keyId: 'nobodys0', usedAtMs },
      ],
    }
    parts.bus.broadcast(subjects.keysUsed, Buffer.from(JSON.stringify(word)))
  }
  const lastUsed = async () =>
    listKeysReply.parse(await request(subjects.keysList, { owner: OWNER })).keys[0]?.lastUsedAt
  publish(Date.parse('2026-03-01T12:00:00.500Z'))
  await expect.poll(() => lastUsed()).toBe('2026-03-01T12:00:00.500Z')
  publish(Date.parse('2026-02-01T12:00:00Z'))
  publish(Date.parse('2026-04-01T12:00:00Z'))
  await expect.poll(() => lastUsed()).toBe('2026-04-01T12:00:00.000Z')
})

test('keys and devices survive a restart and a rotation of the master secret', async () => {
  const rotatedSecret = '0c9e8d7f6a5b4c3d2e1f0a9b8c7d6e5f'
  const minted: string[][] = []
  for (const masterSecret of [MASTER_SECRET, `${rotatedSecret},${MASTER_SECRET}`, rotatedSecret]) {
    await using _keys = await startKeys({ ...parts, masterSecret })
    minted.push([await mint(), await mintGuest()])
    await expect.poll(() => sealedUnder()).toHaveLength(1)
  }
  expect(minted[1]).toEqual(minted[0])
  expect(minted[2]).toEqual(minted[0])
})

test('a wrong master secret is found out at the start', async () => {
  await using _keys = await startKeys({ ...parts, masterSecret: MASTER_SECRET })
  const wrong = startKeys({ ...parts, masterSecret: '0c9e8d7f6a5b4c3d2e1f0a9b8c7d6e5f' })
  await expect(wrong).rejects.toThrow(/KEYS_MASTER_SECRET/)
})

test('a former master secret that something is still sealed under cannot be left out', async () => {
  const rotatedSecret = '0c9e8d7f6a5b4c3d2e1f0a9b8c7d6e5f'
  {
    await using _keys = await startKeys({ ...parts, masterSecret: MASTER_SECRET })
    await mint()
  }
  // The service's own secret is sealed again, a key is not yet.
  const { rows } = await parts.database.query('select sealed, master_key_id from keys.keys')
  {
    await using _keys = await startKeys({ ...parts, masterSecret: `${rotatedSecret},${MASTER_SECRET}` })
    await expect.poll(() => sealedUnder()).toHaveLength(1)
  }
  await parts.database.query('update keys.keys set sealed = $1, master_key_id = $2', Object.values(rows[0]!))
  await expect(startKeys({ ...parts, masterSecret: rotatedSecret })).rejects.toThrow(/KEYS_MASTER_SECRET/)

  await using _keys = await startKeys({ ...parts, masterSecret: `${rotatedSecret},${MASTER_SECRET}` })
  await expect.poll(() => request(subjects.keysReseal, {})).toMatchObject({ isComplete: true })
  expect(await sealedUnder()).toHaveLength(1)
})

async function sealedUnder(): Promise<unknown[]> {
  const { rows } = await parts.database.query(
    'select master_key_id from keys.keys union select master_key_id from keys.secrets',
  )
  return rows
}
