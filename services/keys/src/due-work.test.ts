import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { minted, openKeysService, type TestKeys } from '../test/keys-service.ts'
import { openDueWork, WORK, type Work } from './due-work.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  await keys.changes[Symbol.asyncDispose]()
  await minted(keys, { owner: { issuer: 'https://id.example', subject: 'alice' } })
})
afterEach(() => keys[Symbol.asyncDispose]())

const ACCOUNT = '(select tag from keys.accounts)'

/** Rows that wait for a process now, and rows that do not. */
const ROWS = {
  'a change': [`insert into keys.outbox (account, reason, next_try_at) values (${ACCOUNT}, 'plan', now())`, 'changes'],
  'a change of a project': [
    `insert into keys.project_outbox (account, reason, version, next_try_at) values (${ACCOUNT}, 'limits', 1, now())`,
    'changes',
  ],
  'a change that its process announces': [
    `insert into keys.outbox (account, reason, next_try_at) values (${ACCOUNT}, 'plan', now() + interval '1 minute')`,
    null,
  ],
  'a threshold': [
    `insert into keys.thresholds (account, "window", percent, plan, unit, used, "limit")
     values (${ACCOUNT}, '2026-01', 80, 'free', 'tokens', 8, 10)`,
    'thresholds',
  ],
  'an announced threshold': [
    `insert into keys.thresholds (account, "window", percent, plan, unit, used, "limit", announced_at)
     values (${ACCOUNT}, '2026-02', 80, 'free', 'tokens', 8, 10, now())`,
    null,
  ],
  'an event': [`insert into keys.events (id, kind, payload) values ('one', 'key', '{}')`, 'events'],
  'a published event': [
    `insert into keys.events (id, kind, payload, published_at) values ('other', 'key', '{}', now())`,
    null,
  ],
} as const satisfies Record<string, readonly [string, Work | null]>
type Row = keyof typeof ROWS

/** The work that is found in some looks. */
async function foundWork(): Promise<Work[]> {
  let looks = 0
  const urgent = keys.urgent.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      looks++
      return result
    },
  })
  await using dueWork = openDueWork({ ...keys, urgent }, 5)
  const found = new Set<Work>()
  const stopping = new AbortController()
  const workers = WORK.map(async (work) => {
    await dueWork.found(work, stopping.signal)
    if (!stopping.signal.aborted) found.add(work)
  })
  // The first of them may have begun before the workers slept, and the last one may not have woken anybody yet.
  await expect.poll(() => looks, { interval: 5 }).toBeGreaterThan(2)
  stopping.abort()
  await Promise.all(workers)
  return WORK.filter((work) => found.has(work))
}

test('a look wakes exactly the workers that have something to do, with any rows in the tables', async () => {
  await fc.assert(
    fc.asyncProperty(fc.subarray(Object.keys(ROWS) as Row[]), async (rows) => {
      await keys.database.query('truncate keys.outbox, keys.project_outbox, keys.thresholds, keys.events')
      for (const row of rows) await keys.database.query(ROWS[row][0])
      const due = new Set<Work | null>(rows.map((row) => ROWS[row][1]))
      expect(await foundWork()).toEqual(WORK.filter((work) => due.has(work)))
    }),
    { numRuns: 15 },
  )
})
