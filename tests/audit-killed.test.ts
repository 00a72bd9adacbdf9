/**
 * Keys is killed with SIGKILL before and behind the commit of each change of the administration API. Meanwhile a second process
 * goes on, and developers change their own keys. The caller repeats the call. The audit log then has the rows of each change that
 * stands, once, and none of a change that does not. Its chain verifies.
 */

import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { call, callOnce, CHANGES, type ChangeName, createWorld, outputOf } from './audit-killed/changes.ts'
import { keepChangingOwnKeys } from './audit-killed/own-keys.ts'
import { openStage, type Stage } from './project-keys/stage.ts'
import { runCtl } from './promises/run-ctl.ts'

const SOON_MS = 60_000

/** These confirm a state that always holds, so they change nothing. */
const WITHOUT_A_ROW: ReadonlySet<string> = new Set<ChangeName>([
  'dataRetention.update',
  'projectDataRetention.update',
  'users.update',
  'keys.reseal',
])

/** Each such call changes something: it creates another thing, another value, or a later expiry. */
const CHANGES_AGAIN: ReadonlySet<string> = new Set<ChangeName>([
  'projects.create',
  'serviceAccounts.create',
  'serviceAccounts.createKey',
  'apiKeys.create',
  'apiKeys.update',
  'apiKeys.rotate',
  'projectSpendAlerts.create',
  'spendAlerts.create',
  'adminKeys.create',
])

/** One of each kind. `EVERY_CHANGE=1 npm test -- tests/audit-killed.test.ts` kills keys at all of them. */
const KILLED: readonly ChangeName[] = process.env['EVERY_CHANGE']
  ? (Object.keys(CHANGES) as ChangeName[])
  : ['serviceAccounts.create', 'apiKeys.delete', 'rateLimits.update', 'projectUsers.delete', 'backends.drain']

const stack = new AsyncDisposableStack()
let stage: Stage
let processes: ChildProcess[]
let developers: ReturnType<typeof keepChangingOwnKeys>
beforeAll(async () => {
  stage = stack.use(await openStage())
  processes = [stage.startKeys(), stage.startKeys()]
  await vi.waitFor(() => createWorld(stage), { timeout: SOON_MS })
  developers = keepChangingOwnKeys(stage)
  stack.defer(async () => void (await developers.stop()))
})
afterAll(() => stack.disposeAsync())

/** The types of the rows that one call wrote, in their order. */
async function rowsOf(requestId: string): Promise<string[]> {
  const { rows } = await stage.database.query<{ type: string }>(
    `select type from keys.audit_log where entry::jsonb ->> 'requestId' = $1 order by seq`,
    [requestId],
  )
  return rows.map(({ type }) => type)
}

interface Effect {
  /** `done`, or the code of the refusal. */
  outcome: string
  rows: string[]
  /** Rows of tables that came or went. */
  things: Record<string, number>
}

const TABLES = {
  projects: "keys.accounts where kind = 'project'",
  archived: 'keys.projects where archived_at is not null',
  keys: 'keys.project_keys',
  liveKeys: 'keys.project_keys where deactivated_at is null',
  serviceAccounts: 'keys.service_accounts',
  adminKeys: 'keys.admin_keys',
  liveAdminKeys: 'keys.admin_keys where revoked_at is null',
  alerts: 'keys.spend_alerts',
  groups: 'keys.groups',
  members: 'keys.project_users',
  groupMembers: 'keys.project_groups',
  modelLimits: 'keys.model_limits',
  controls: 'keys.backend_controls',
  topUps: 'keys.top_ups',
}

async function countThings(): Promise<Record<string, number>> {
  const columns = Object.entries(TABLES).map(([name, from]) => `(select count(*)::int from ${from}) as "${name}"`)
  const { rows } = await stage.database.query<Record<string, number>>(`select ${columns.join(', ')}`)
  return rows[0]!
}

async function effectOf(run: (requestId: string) => Promise<string>): Promise<Effect> {
  const before = await countThings()
  const requestId = randomUUID()
  const outcome = await run(requestId)
  const after = await countThings()
  const things = Object.fromEntries(
    Object.entries(after).flatMap(([name, count]) => (count === before[name] ? [] : [[name, count - before[name]!]])),
  )
  return { outcome, rows: await rowsOf(requestId), things }
}

type Input = Record<string, unknown>

const inputFor = async (operation: ChangeName) => CHANGES[operation](await createWorld(stage))

const effectOfCall = (operation: ChangeName, input: Input) =>
  effectOf(async (requestId) => {
    const reply = await call(stage, operation, input, requestId)
    return reply.kind === 'done' ? 'done' : reply.code
  })

/** The process that serves the call dies at the point. Another process starts in its place. */
function effectOfKilled(operation: ChangeName, input: Input, point: string): Promise<Effect> {
  return effectOf(async (requestId) => {
    const exits = processes.map(async (process) => {
      await once(process, 'exit')
      return process
    })
    await writeFile(join(stage.failpoints, point), '')
    const reply = callOnce(stage, operation, input, requestId)
    const dead = await Promise.race([...exits, reply.then(() => undefined)])
    expect(dead?.signalCode).toBe('SIGKILL')
    processes = processes.map((process) => (process === dead ? stage.startKeys() : process))
    return 'killed'
  })
}

/** Verifies the chain behind the last call of this function. */
async function verifyChain(): Promise<void> {
  for (;;) {
    const page = await outputOf(stage, 'audit.verify', verified)
    const { problem, last_id: after, last_hash: hash, has_more: hasMore } = page
    expect(problem).toBeNull()
    verified = { after, hash }
    if (!hasMore) return
  }
}
let verified: Input = {}

/** An expiry is in whole seconds: only from the next one on it is a later one. */
async function effectOfRepeated(operation: ChangeName, input: Input): Promise<Effect> {
  if (operation === 'apiKeys.update') await nextSecond()
  return effectOfCall(operation, input)
}

async function nextSecond(): Promise<void> {
  const now = () => Math.floor(Date.now() / 1_000)
  const second = now()
  while (now() === second) await sleep(20)
}

test.each(Object.keys(CHANGES) as ChangeName[])(
  '%s is in the audit log, and a repeated call only where it changes something again',
  async (operation) => {
    const input = await inputFor(operation)
    const first = await effectOfCall(operation, input)
    const repeated = await effectOfRepeated(operation, input)
    expect(first.outcome).toBe('done')
    expect(first.rows.length > 0).toBe(!WITHOUT_A_ROW.has(operation))
    expect(repeated.rows).toEqual(CHANGES_AGAIN.has(operation) ? first.rows : [])
  },
)

test.each(KILLED)('%s is in the audit log exactly when it stands, wherever keys dies', async (operation) => {
  const input = await inputFor(operation)
  const first = await effectOfCall(operation, input)
  const repeated = await effectOfRepeated(operation, input)

  const unmade = await inputFor(operation)
  const killed = await effectOfKilled(operation, unmade, 'keys.audit-written')
  expect(killed).toEqual({ outcome: 'killed', rows: [], things: {} })
  expect(await effectOfCall(operation, unmade)).toEqual(first)
  expect(await effectOfRepeated(operation, unmade)).toEqual(repeated)

  const made = await inputFor(operation)
  const stands = await effectOfKilled(operation, made, 'keys.administration-committed')
  expect(stands).toEqual({ ...first, outcome: 'killed' })
  expect(await effectOfRepeated(operation, made)).toEqual(repeated)
  await verifyChain()
})

test('each key that developers made or ended meanwhile has its row, and the whole chain verifies', async () => {
  const changed = await developers.stop()
  expect(changed).toBeGreaterThan(0)
  const { rows: keys } = await stage.database.query<{ id: string; status: string; types: string[] }>(
    `select 'key_' || key.key_id as id, key.status, array(
       select log.type from keys.audit_log log where log.resources @> array['key_' || key.key_id] order by log.seq
     ) as types from keys.keys key`,
  )
  expect(keys.length).toBeGreaterThan(0)
  for (const { status, types } of keys) {
    expect(types).toEqual(status === 'active' ? ['api_key.created'] : ['api_key.created', 'api_key.deleted'])
  }
  expect(await runCtl(['audit', 'verify'], { NATS_URL: stage.natsUrl })).toMatchObject({ code: 0 })
})
