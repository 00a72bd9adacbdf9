/**
 * Lives of named keys, in any order and several acts at once: created, limited, rotated, deleted, expired, archived, and their account
 * suspended and restored. Meanwhile the
 * admission store is away or forgets everything. After each step the store decides on every value that ever was as the tables do,
 * and no value lives that a reply has ended.
 */

import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { admitUntilRefused } from '../../test/edge.ts'
import { hashOf, openKeysService, type TestKeys } from '../../test/keys-service.ts'
import { call, replyTo } from '../../test/projects.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => {
  postgres = await startPostgres()
  keys = await openKeysService(postgres)
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const STORIES = 25
const MINUTE_MS = 61_000
const MOST_PER_MINUTE = 3
const AWAY_MS = 200
const soon = { timeout: 20_000, interval: 20 }

const which = fc.nat(7)
const perMinute = fc.option(fc.integer({ min: 1, max: MOST_PER_MINUTE }))
const expiresInSeconds = fc.option(fc.constantFrom(30, 86_400))
const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('create' as const), perMinute, expiresInSeconds }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('limit' as const), which, perMinute, expiresInSeconds }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('rotate' as const), which }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('createRobot' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deleteRobot' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('archive' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('suspend' as const), suspended: fc.boolean() }) },
)
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never
/** The acts of a step are at once. `storeIs`: meanwhile; a forgetful store has nothing before the step. */
const step = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
  storeIs: fc.constantFrom('there', 'there', 'there', 'forgetful', 'away'),
  minutePasses: fc.boolean(),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

interface Story {
  project_id: string
  keyIds: string[]
  robots: string[]
  /** Every value that a response contained, and its key. */
  values: Map<string, string>
  /** The values that a reply has ended. */
  ended: Set<string>
}

test('for any acts at once, the store decides as the tables do, and a value that a reply has ended stays dead', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
      const { id } = await call(keys, 'projects.create', { name: 'story' })
      const story: Story = { project_id: id, keyIds: [], robots: [], values: new Map(), ended: new Set() }
      for (const one of steps) await takeStep(story, one)
    }),
    { numRuns: STORIES },
  )
})

async function takeStep(story: Story, { acts, storeIs, minutePasses }: Step): Promise<void> {
  if (minutePasses) keys.admission.pass(MINUTE_MS)
  if (storeIs === 'forgetful') keys.admission.forget()
  keys.admission.away = storeIs === 'away'
  const before = new Set(story.values.keys())
  const takes = Promise.all(acts.map((one) => take(story, one, before)))
  // An act's announcement goes on until the store is back.
  const back = setTimeout(() => void (keys.admission.away = false), AWAY_MS)
  await takes
  clearTimeout(back)
  keys.admission.away = false
  const left = async () => (await keys.database.query('select from keys.project_outbox')).rows.length
  await expect.poll(left, soon).toBe(0)
  await checkAll(story)
}

async function take(story: Story, one: Act, before: ReadonlySet<string>): Promise<void> {
  const { project_id, keyIds, robots, values, ended } = story
  const endAll = (isOf: (keyId: string) => boolean) => {
    for (const value of before) if (isOf(values.get(value)!)) ended.add(value)
  }
  switch (one.kind) {
    case 'create': {
      const limits = { max_requests_per_1_minute: one.perMinute, expires_in_seconds: one.expiresInSeconds }
      const made = await outputOf('apiKeys.create', { project_id, name: 'key', ...limits })
      if (made) remember(story, String(made['id']), String(made['value']))
      return
    }
    case 'limit': {
      const api_key_id = keyIds[one.which % Math.max(1, keyIds.length)]
      const limits = { max_requests_per_1_minute: one.perMinute, expires_in_seconds: one.expiresInSeconds }
      if (api_key_id) await outputOf('apiKeys.patch', { project_id, api_key_id, ...limits })
      return
    }
    case 'rotate': {
      const api_key_id = keyIds[one.which % Math.max(1, keyIds.length)]
      const made = api_key_id && (await outputOf('apiKeys.rotate', { project_id, api_key_id }))
      if (!made) return
      endAll((keyId) => keyId === api_key_id)
      remember(story, api_key_id, String(made['value']))
      return
    }
    case 'delete': {
      const api_key_id = keyIds[one.which % Math.max(1, keyIds.length)]
      if (api_key_id && (await outputOf('apiKeys.delete', { project_id, api_key_id }))) {
        endAll((keyId) => keyId === api_key_id)
      }
      return
    }
    case 'createRobot': {
      const made = await outputOf('serviceAccounts.create', { project_id, name: 'robot' })
      if (!made) return
      robots.push(String(made['id']))
      const key = made['api_key'] as { id: string; value: string }
      remember(story, key.id, key.value)
      return
    }
    case 'deleteRobot': {
      const service_account_id = robots[one.which % Math.max(1, robots.length)]
      if (service_account_id) await outputOf('serviceAccounts.delete', { project_id, service_account_id })
      return
    }
    case 'suspend':
      await outputOf('accounts.update', { account_id: project_id, suspended: one.suspended })
      return
    case 'archive':
      if (await outputOf('projects.archive', { project_id })) endAll(() => true)
  }
}

function remember({ keyIds, values }: Story, keyId: string, value: string): void {
  if (!keyIds.includes(keyId)) keyIds.push(keyId)
  values.set(value, keyId)
}

type Name = Parameters<typeof replyTo>[1]

/** Undefined where the call is refused: the key is dead, or the project archived. */
async function outputOf(operation: Name, input: object): Promise<Record<string, unknown> | undefined> {
  const reply = await replyTo(keys, operation, input)
  if (reply.kind === 'done') return reply.output as Record<string, unknown>
  expect(['NOT_FOUND', 'CONFLICT']).toContain(reply.code)
  return undefined
}

async function checkAll({ values, ended, project_id }: Story): Promise<void> {
  const { rows } = await keys.database.query<{ hash: Buffer; perMinute: number | null; expiresAtMs: number | null }>(
    `select hash, requests_per_minute as "perMinute", extract(epoch from expires_at)::float8 * 1000 as "expiresAtMs"
     from keys.project_keys join keys.accounts on tag = account
     where account = $1 and deactivated_at is null and suspended_at is null`,
    [project_id.slice(5)],
  )
  const living = new Map(rows.map(({ hash, ...limits }) => [hash.toString('base64url'), limits]))
  // All counts of the minute before are over.
  keys.admission.pass(MINUTE_MS)
  for (const value of values.keys()) {
    const limits = living.get(hashOf(value))
    if (ended.has(value)) expect(limits, 'the tables hold a value alive that a reply has ended').toBeUndefined()
    const seen = await admitUntilRefused(keys, value)
    const isExpired = limits?.expiresAtMs != null && limits.expiresAtMs <= keys.admission.nowMs()
    if (!limits || isExpired) expect(seen).toEqual({ admitted: 0, refusal: 'key dead' })
    else if (limits.perMinute !== null) expect(seen).toEqual({ admitted: limits.perMinute, refusal: 'requests key' })
    else {
      expect(seen).toEqual({ admitted: expect.any(Number), refusal: 'requests account' })
      // The project's own minute is full for the others.
      keys.admission.pass(MINUTE_MS)
    }
  }
}
