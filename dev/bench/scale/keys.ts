/**
 * Cost against the number of keys: accounts, each with a key, known to PostgreSQL and to Redis; requests draw from all of
 * them. Beside that the first request of a key that Redis does not know yet.
 */

import type { Admission } from '@gateway/admission/port'
import { openRedisAdmission } from '@gateway/admission/redis'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { keepMasterSecret } from '@gateway/local/master-secret-file'
import { commandRedis } from '@gateway/testing/redis-command'
import { deriveMasterKeys, type MasterKeys } from '../../../services/keys/src/core/master-keys.ts'
import { newAccountTag, newKey, type NewKey } from '../../../services/keys/src/core/new-key.ts'
import type { Curve, Scaling } from './curve.ts'
import { openRig, PLAIN, sumOf, type Rig } from './rig.ts'

const STEPS = [1_000, 10_000, 100_000, 1_000_000]
const CHUNK = 2_000
const COLD_KEYS = 4_000
const PLAN = 'team'

export interface Held extends NewKey {
  account: string
}

export async function scaleKeys({ signal, say, mostKeys }: Scaling): Promise<Curve> {
  await using rig = await openRig(signal, { accounts: 1 })
  const { servers } = rig.gateway.cluster
  await using database = await openDatabase(servers.postgres.url)
  await using admission = await openRedisAdmission({ url: servers.redis.url, timeoutMs: 30_000 })
  const masterKeys = deriveMasterKeys(await keepMasterSecret(rig.gateway.dataDir))
  const make = (count: number): Held[] => makeKeys(masterKeys, count)

  const keys: string[] = []
  const points: Curve['points'] = []
  for (const count of STEPS.filter((step) => step <= mostKeys)) {
    while (keys.length < count) {
      signal.throwIfAborted()
      const some = make(Math.min(CHUNK, count - keys.length))
      await Promise.all([store(database, some), fillStore(admission, some)])
      keys.push(...some.map(({ value }) => value))
    }
    const values = await measure(rig, database, keys, make(COLD_KEYS))
    points.push({ x: count, values })
    say(`  ${count} keys: ${values['cpu']?.toFixed(3)} ms CPU per request, Redis ${values['redisMb']?.toFixed(0)} MB`)
  }
  return {
    title: 'Keys',
    x: 'keys',
    columns: {
      cpu: 'CPU ms per request, all processes',
      redisCpu: 'of it Redis',
      p50: 'p50 ms',
      p99: 'p99 ms',
      firstP50: 'first request of a key, p50 ms',
      redisMb: 'Redis MB',
      postgresMb: 'PostgreSQL MB (keys, accounts)',
    },
    points,
    panels: [
      { title: 'CPU ms per request', columns: ['cpu', 'redisCpu'] },
      { title: 'ms', columns: ['p50', 'firstP50'] },
      { title: 'MB', columns: ['redisMb', 'postgresMb'] },
    ],
    notes: [
      'Each request draws one of all keys at random, 32 connections. "First request": Redis knows nothing of the account, so keys and metering are asked; one connection.',
    ],
  }
}

async function measure(rig: Rig, database: Database, keys: string[], cold: Held[]): Promise<Record<string, number>> {
  await store(database, cold)
  const firstEndpoint = { ...rig.gateway.endpoint, tokens: cold.map(({ value }) => value) }
  const first = await rig.run(PLAIN, { connections: 1, seconds: 2 }, firstEndpoint)
  const endpoint = { ...rig.gateway.endpoint, tokens: keys }
  await rig.run(PLAIN, { connections: 32, seconds: 3 }, endpoint)
  const { load, cpuMs } = await rig.costedRun(
    PLAIN,
    { connections: 32, seconds: 6 },
    ({ requests }) => requests,
    endpoint,
  )
  const memory = String(await commandRedis(rig.gateway.cluster.servers.redis.url, 'INFO', 'memory'))
  const { rows } = await database.query<{ bytes: number }>(
    `select (pg_total_relation_size('keys.keys') + pg_total_relation_size('keys.accounts'))::bigint as bytes`,
  )
  return {
    cpu: sumOf(cpuMs),
    redisCpu: sumOf(cpuMs, 'redis'),
    p50: load.latency.p50,
    p99: load.latency.p99,
    firstP50: first.latency.p50,
    redisMb: Number(/used_memory:(\d+)/.exec(memory)?.[1]) / 2 ** 20,
    postgresMb: rows[0]!.bytes / 2 ** 20,
  }
}

export function makeKeys(masterKeys: MasterKeys, count: number): Held[] {
  return Array.from({ length: count }, () => {
    const account = newAccountTag()
    return { account, ...newKey(masterKeys, account) }
  })
}

/** Stores them as minting would. */
export async function store(database: Database, keys: Held[]): Promise<void> {
  await database.query(
    `insert into keys.accounts (tag, kind, issuer, subject, plan)
     select tag, 'developer', 'https://bench.invalid', tag, $2 from unnest($1::text[]) as tag`,
    [keys.map(({ account }) => account), PLAN],
  )
  await database.query(
    `insert into keys.keys (key_id, account, hash, sealed, master_key_id, version)
     select *, 1 from unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[], $5::text[])`,
    [
      keys.map(({ keyId }) => keyId),
      keys.map(({ account }) => account),
      keys.map(({ hash }) => hash),
      keys.map(({ sealed }) => Buffer.from(sealed)),
      keys.map(({ masterKeyId }) => masterKeyId),
    ],
  )
}

/** Fills admission as their first request would. */
export async function fillStore(admission: Admission, keys: Held[]): Promise<void> {
  const { window } = await admission.currentWindow()
  await Promise.all(
    keys.map(async ({ account, hash }) => {
      const state = [{ keyHash: hash.toString('base64url'), version: 1, active: true }]
      await admission.fill({ account, version: 1, plan: PLAN, overage: false, extra: 0, keys: state })
      await admission.warm({ account, window, settled: 0, version: 0 })
    }),
  )
}
