/**
 * A keys process on real servers, which a test kills and starts again, and the calls of an operator on projects.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Admission } from '@gateway/admission/port'
import { openRedisAdmission } from '@gateway/admission/redis'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { parseKey } from '@gateway/contracts/api-key'
import { keysInvalidated } from '@gateway/contracts/developer-keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { rpcClient } from '@gateway/rpc/client'
import { startNats, startPostgres, startRedis } from '@gateway/servers/start'
import { expect } from 'vitest'
import { PRESENT, type Version } from '../skew/versions.ts'

/** Only a process that hangs shows by it: a start on a machine with other work may take a minute. */
const SOON_MS = 120_000

export interface Stage extends AsyncDisposable {
  bus: Bus
  natsUrl: string
  admission: Admission
  database: Database
  failpoints: string
  /** The hashes of the dead keys that edges learned of, with the reasons. */
  published: ReadonlyMap<string, string>
  startKeys(version?: Version): ChildProcess
}

export async function openStage(): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()])
  for (const server of [nats, redis, postgres]) opening.use(server)
  const { url: databaseUrl } = opening.use(await postgres.createDatabase())
  const failpoints = await mkdtemp(join(tmpdir(), 'gateway-project-keys-'))
  opening.defer(() => rm(failpoints, { recursive: true, force: true }))
  const database = opening.use(await openDatabase(databaseUrl))
  const admission = opening.use(await openRedisAdmission({ url: redis.url, timeoutMs: 5_000 }))
  const bus = opening.use(await openNatsBus({ url: nats.url, name: 'test' }))
  const published = new Map<string, string>()
  await bus.listen(subjects.keysInvalidated, (word) => {
    const { keyHash, reason } = keysInvalidated.parse(JSON.parse(Buffer.from(word).toString()))
    published.set(keyHash, reason)
  })
  const environment = { NATS_URL: nats.url, REDIS_URL: redis.url, DATABASE_URL: databaseUrl, FAILPOINTS: failpoints }
  const started: ChildProcess[] = []
  opening.defer(async () => void (await Promise.all(started.map(endProcess))))
  const opened = opening.move()
  return {
    bus,
    natsUrl: nats.url,
    admission,
    database,
    failpoints,
    published,
    startKeys: ({ folder, isCompiled } = PRESENT) => {
      const main = join(folder, `services/keys/src/main.${isCompiled ? 'js' : 'ts'}`)
      const secrets = { KEYS_MASTER_SECRET: 'b5f0a3c9e7d14286a1f0c3e5d7b92846' }
      const env = { ...environment, ...secrets, LOG_LEVEL: 'fatal', HEALTH_PORT: '0' }
      const keys = spawn(process.execPath, [main], { env, stdio: 'inherit' })
      dieWithParent(keys)
      started.push(keys)
      return keys
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export async function endProcess(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exited = once(process, 'exit')
  process.kill('SIGKILL')
  await exited
}

type Members = Record<string, unknown>

export async function administer({ bus }: Stage, operation: string, input: Members): Promise<Members> {
  const origin = { requestId: 'test', address: null, userAgent: null }
  const request = { operation, input, credential: { kind: 'operator' as const }, origin }
  const reply = await rpcClient('ctl', bus).request('keysAdminister', request, { timeoutMs: 5_000, absentForMs: 4_000 })
  if (reply.kind === 'refused') throw new Error(`${operation}: ${reply.code} ${reply.message}`)
  return reply.output as Members
}

export const hashOf = (value: string) => createHash('sha256').update(value).digest('base64url')
export const tagOf = (value: string) => parseKey(value)!.accountTag

export async function stateOf({ admission }: Stage, value: string): Promise<string> {
  return (await admission.authenticate({ account: tagOf(value), keyHash: hashOf(value) })).kind
}

export interface ProjectWithKeys {
  project_id: string
  service_account_id: string
  api_key_id: string
  /** Of the service account and of the named key. */
  values: { robot: string; named: string }
}

/** Waits for a process that is still starting. */
export async function createProject(stage: Stage): Promise<ProjectWithKeys> {
  let project: Members | undefined
  const create = async () =>
    (project = await administer(stage, 'projects.create', { name: 'search' }).catch(() => undefined))
  await expect.poll(create, { timeout: SOON_MS }).toBeDefined()
  const project_id = String(project!['id'])
  const robot = await administer(stage, 'serviceAccounts.create', { project_id, name: 'robot' })
  const named = await administer(stage, 'apiKeys.create', { project_id, name: 'named' })
  const values = { robot: (robot['api_key'] as { value: string }).value, named: String(named['value']) }
  return { project_id, service_account_id: String(robot['id']), api_key_id: String(named['id']), values }
}
