/**
 * Keys is killed with SIGKILL again and again while callers rotate and revoke. A key is refused from the moment when
 * the reply to its rotation or revocation came. One that died without a reply is refused soon after. No caller is left
 * with two active keys.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Admission } from '@gateway/admission/port'
import { openRedisAdmission } from '@gateway/admission/redis'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { parseKey } from '@gateway/contracts/api-key'
import type { RequestedBy, Read, Written } from '@gateway/contracts/bus-roles'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { startNats, startPostgres, startRedis } from '@gateway/servers/start'
import { rpcClient } from '@gateway/rpc/client'
import { expect, test } from 'vitest'

const KILLS = 6
const CALLERS = 8
const WAIT_MS = 60_000

test('killing keys never lets a dead key live', async () => {
  await using running = new AsyncDisposableStack()
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()])
  for (const server of [nats, redis, postgres]) running.use(server)
  const { url: databaseUrl } = running.use(await postgres.createDatabase())
  const database = running.use(await openDatabase(databaseUrl))
  const admission = running.use(await openRedisAdmission({ url: redis.url, timeoutMs: 5_000 }))
  const bus = running.use(await openNatsBus({ url: nats.url, name: 'test' }))
  const environment = { NATS_URL: nats.url, REDIS_URL: redis.url, DATABASE_URL: databaseUrl }
  let keys = startKeys(environment)
  running.defer(() => kill(keys))

  const story: Story = { bus, admission, over: false, replied: 0, outstanding: 0 }
  const callers = Array.from({ length: CALLERS }, (_, index) => liveThroughKeys(story, `caller-${index}`))
  for (let kills = 0; kills < KILLS; kills++) {
    const before = story.replied
    await until('callers get replies', async () => story.replied > before + Math.random() * 40)
    await kill(keys)
    keys = startKeys(environment)
  }
  story.over = true
  await Promise.all(callers)
  expect(story.replied).toBeGreaterThan(KILLS)

  await until('the outbox is empty', async () => (await count(database, 'select from keys.outbox')) === 0)
  const dead = await readHashes(database, 'deactivated')
  expect(dead.length).toBeGreaterThanOrEqual(story.replied)
  for (const key of dead) expect(await admission.authenticate(key)).not.toMatchObject({ kind: 'active' })
  const active = await readHashes(database, 'active')
  expect(new Set(active.map(({ account }) => account)).size).toBe(active.length)
})

interface Story {
  bus: Bus
  admission: Admission
  over: boolean
  replied: number
  outstanding: number
}

/** Mints, rotates and revokes until the story is over, and checks every reply the moment it comes. */
async function liveThroughKeys(story: Story, subject: string): Promise<void> {
  const owner: KeyOwner = { issuer: 'https://id.example', subject }
  for (let turn = 0; !story.over; turn++) {
    const minted = await sendRequest(story, 'keysMint', { owner })
    if (minted?.kind !== 'minted') continue
    const { key } = minted
    const keyHash = hashOf(key)
    // As an edge does: a rotation that was given up and comes late ends no key that a mint has returned since.
    const session = await sendRequest(story, 'keysFindSession', { owner, toEnd: keyHash })
    if (session?.kind !== 'found') continue
    const ending = { owner, keyHash, ticket: session.ticket }
    const reply = await sendRequest(story, turn % 2 === 0 ? 'keysRotate' : 'keysRevoke', ending)
    if (!reply) continue
    // Nobody else acts for this caller, and the key was active a moment ago.
    expect(reply.kind).toBe(turn % 2 === 0 ? 'rotated' : 'revoked')
    expect(await story.admission.authenticate({ account: parseKey(key)!.accountTag, keyHash })).toEqual({
      kind: 'deny',
    })
    story.replied++
  }
}

/** Returns undefined when nobody replied. */
async function sendRequest<Name extends RequestedBy<'edge'>>(
  story: Story,
  name: Name,
  question: Written<Name, 'request'>,
): Promise<Read<Name, 'reply'> | undefined> {
  try {
    return await rpcClient('edge', story.bus).request(name, question, { timeoutMs: 1_000 })
  } catch {
    story.outstanding++
    await sleep(20)
    return undefined
  }
}

function hashOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url')
}

function startKeys(environment: Record<string, string>): ChildProcess {
  const keys = spawn(process.execPath, ['services/keys/src/main.ts'], {
    env: {
      ...environment,
      KEYS_MASTER_SECRET: 'b5f0a3c9e7d14286a1f0c3e5d7b92846',
      LOG_LEVEL: 'fatal',
      HEALTH_PORT: '0',
    },
    stdio: 'inherit',
  })
  dieWithParent(keys)
  return keys
}

async function kill(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exited = once(process, 'exit')
  process.kill('SIGKILL')
  await exited
}

async function count(database: Database, query: string): Promise<number> {
  return (await database.query(query)).rows.length
}

async function readHashes(database: Database, status: string): Promise<{ account: string; keyHash: string }[]> {
  const { rows } = await database.query<{ account: string; hash: Buffer }>(
    'select account, hash from keys.keys where status = $1',
    [status],
  )
  return rows.map(({ account, hash }) => ({ account, keyHash: hash.toString('base64url') }))
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const giveUpAtMs = performance.now() + WAIT_MS
  while (!(await holds())) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited in vain until ${what}`)
    await sleep(5)
  }
}
