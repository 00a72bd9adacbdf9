import { setTimeout as sleep } from 'node:timers/promises'
import type { KeysAdmission } from '@gateway/admission/port'
import { subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { parseKey } from '@gateway/contracts/api-key'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hashOf, openKeysService, type TestKeys, minted } from '../test/keys-service.ts'
import { startAnnouncer } from './announce-changes.ts'
import { openDueWork } from './due-work.ts'
import { type ChangeReason, measureOutbox, noteChange, pauseMs } from './db/outbox.ts'
import { lockAccount, raiseVersion } from './db/accounts.ts'
import { deactivateKey, findOwnKey } from './db/keys.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const owner = (subject: string): KeyOwner => ({ issuer: 'https://id.example', subject })
const mint = async (subject: string): Promise<string> => (await minted(keys, { owner: owner(subject) })).key
const tagOf = (key: string): string => parseKey(key)!.accountTag

/** A change whose process died before it was announced. Nobody here serves metering's requests, so a change of plan is undeliverable. */
async function leaveChange(key: string, reason: ChangeReason): Promise<void> {
  await noteChange(keys.database, { account: tagOf(key), reason, deadKey: null })
}
const leavePlanChange = (key: string) => leaveChange(key, 'plan')

/** A revoke that is committed and whose process died before it was announced. */
async function leaveRevoke(key: string): Promise<void> {
  const account = tagOf(key)
  await keys.database.transaction().execute(async (transaction) => {
    await lockAccount(transaction, account)
    const own = await findOwnKey(transaction, account, Buffer.from(hashOf(key), 'base64url'))
    const deadKey = await deactivateKey(transaction, own!, await raiseVersion(transaction, account))
    await noteChange(transaction, { account, reason: 'revoked', deadKey })
  })
}

const soon = { timeout: 60_000, interval: 50 }
const stateOf = async (key: string) => (await keys.admission.authenticate(key)).kind

test('a revoke that was left behind is announced though the plan change of another account cannot be', async () => {
  const [poisoned, revoked] = [await mint('alice'), await mint('bob')]
  await leavePlanChange(poisoned)
  await leaveRevoke(revoked)
  await expect.poll(() => stateOf(revoked), soon).toBe('deny')
})

test('a revoke that was left behind is announced though a plan change of its own account cannot be', async () => {
  const key = await mint('alice')
  await leavePlanChange(key)
  await leaveRevoke(key)
  await expect.poll(() => stateOf(key), soon).toBe('deny')
})

test('a change that fails pauses longer and longer, and this can be read', async () => {
  await leavePlanChange(await mint('alice'))
  const most = async () => (await measureOutbox(keys.database)).find(({ lane }) => lane === 'account')!
  await expect.poll(async () => (await most()).mostAttempts, soon).toBeGreaterThan(1)
  const { depth, oldestSeconds } = await most()
  expect(depth).toBe(1)
  expect(oldestSeconds).toBeGreaterThan(pauseMs('account', 1) / 1_000)
  expect(await measureOutbox(keys.database)).toContainEqual({
    lane: 'revocation',
    depth: 0,
    oldestSeconds: 0,
    mostAttempts: 0,
  })
})

/** A destination's reaction to the events of an account. */
type Destination = 'takes it' | 'takes it the third time' | 'refuses' | 'is slow and refuses'
interface World {
  store: Destination
  tombstones: 'takes it' | 'takes it the third time'
  metering: Destination
}
type Step = { account: number; reason: 'plan' | 'overage' | 'top_up' | 'revoked' }

const destination = fc.constantFrom<Destination>(
  'takes it',
  'takes it the third time',
  'refuses',
  'is slow and refuses',
)
const world: fc.Arbitrary<World> = fc.record({
  store: destination,
  tombstones: fc.constantFrom('takes it', 'takes it the third time'),
  metering: destination,
})
const step: fc.Arbitrary<Step> = fc.record({
  account: fc.nat(3),
  reason: fc.constantFrom('plan', 'overage', 'top_up', 'revoked'),
})
const SLOW_MS = 700
const HASTE = 20
const KNOWN_WITHIN_MS = 10_000

describe('for any changes and any unreachable destinations', () => {
  test("an account's changes are announced in order, and a revoke is known soon", async () => {
    await keys.changes[Symbol.asyncDispose]()
    await keys.database
      .query(`create table keys.forgotten (nr int generated always as identity, id bigint, account text, reason text);
      create function keys.note_forgotten() returns trigger language plpgsql as $$ begin
        insert into keys.forgotten (id, account, reason) values (old.id, old.account, old.reason); return old; end $$;
      create trigger note_forgotten after delete on keys.outbox for each row execute function keys.note_forgotten()`)
    let worlds: Map<string, World>
    const callCounts = new Map<string, number>()
    const publish = async (account: string, place: keyof World) => {
      const times = (callCounts.get(`${account} ${place}`) ?? 0) + 1
      callCounts.set(`${account} ${place}`, times)
      const takes = worlds.get(account)![place]
      if (takes === 'is slow and refuses') await sleep(SLOW_MS)
      if (takes === 'takes it' || (takes === 'takes it the third time' && times >= 3)) return
      throw new Error(`${place} does not take it`)
    }
    await keys.bus.serve(subjects.meteringWarm, 'metering', async (question) => {
      await publish((JSON.parse(Buffer.from(question).toString()) as { account: string }).account, 'metering')
      return Buffer.from('{"kind":"warmed"}')
    })
    const admission: KeysAdmission = {
      ...keys.admission,
      fill: (facts) => publish(facts.account, 'store').then(() => keys.admission.fill(facts)),
      deactivate: (dead) => publish(dead.account, 'tombstones').then(() => keys.admission.deactivate(dead)),
    }

    let run = 0
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(world, world, world, world),
        fc.array(step, { minLength: 4, maxLength: 16, size: 'max' }),
        async (given, steps) => {
          const held = await Promise.all(given.map((_, index) => mint(`${++run} ${index}`)))
          worlds = new Map(held.map((key, index) => [tagOf(key), given[index]!]))
          const revoked = new Set<string>()
          for (const { account, reason } of steps) {
            const key = held[account]!
            if (reason !== 'revoked') await leaveChange(key, reason)
            else if (!revoked.has(key)) {
              revoked.add(key)
              await leaveRevoke(key)
            }
          }
          await keys.database.query('update keys.outbox set next_try_at = now()')
          const pace = { lookEveryMs: 20, pauseMs: (...of: Parameters<typeof pauseMs>) => pauseMs(...of) / HASTE }
          await using dueWork = openDueWork(keys, pace.lookEveryMs)
          const announcer = startAnnouncer({ ...keys, dueWork, admission }, pace)
          for (const key of revoked) {
            await expect.poll(() => stateOf(key), { timeout: KNOWN_WITHIN_MS, interval: 10 }).toBe('deny')
          }
          const reachable = held.filter((key) => !/refuses/.test(JSON.stringify(worlds.get(tagOf(key)))))
          const left = async () =>
            (await keys.database.query('select from keys.outbox where account = any($1)', [reachable.map(tagOf)])).rows
              .length
          await expect.poll(left, { interval: 10 }).toBe(0)
          await announcer[Symbol.asyncDispose]()

          const { rows } = await keys.database.query<{ id: number; account: string }>(
            `select id, account from keys.forgotten where reason in ('plan', 'overage', 'top_up') order by nr`,
          )
          for (const [, ofOne] of Map.groupBy(rows, ({ account }) => account)) {
            const ids = ofOne.map(({ id }) => id)
            expect(ids).toEqual(ids.toSorted((a, b) => a - b))
          }
          await keys.database.query('delete from keys.outbox')
          await keys.database.query('delete from keys.forgotten')
        },
      ),
      { numRuns: 15 },
    )
  })
})
