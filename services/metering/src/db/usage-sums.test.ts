import { randomBytes } from 'node:crypto'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { keepUsageSums, sumUpNotes } from './usage-sums.ts'

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => {
  postgres = await startPostgres()
  ledger = await openLedger(postgres)
})
afterAll(async () => {
  await ledger[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const notes = async () => (await ledger.database.query('select from metering.usage_notes')).rows.length

/** No index compresses it. */
const name = fc.integer({ min: 1, max: 6_000 }).map((length) => randomBytes(length).toString('hex').slice(0, length))
const count = fc.oneof(fc.nat({ max: 100 }), fc.constantFrom(1e9, 2 ** 42, 2 ** 43, Number.MAX_SAFE_INTEGER))
const odd = fc.record(
  {
    modelAsked: name,
    userId: name,
    keyId: name,
    tags: fc.dictionary(fc.constantFrom('team', 'env'), name),
    usage: fc.record(
      {
        promptTokens: count,
        completionTokens: count,
        cachedTokens: count,
        cacheWriteTokens: count,
        audioPromptTokens: count,
        images: count,
        toolCalls: fc.dictionary(name, count, { maxKeys: 2 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
)

test('a report that no sum could hold is kept aside, and no report stops the sums', async () => {
  const run = fc.asyncProperty(fc.array(odd, { minLength: 1, maxLength: 8 }), async (reports) => {
    const usual = usageEvent()
    const events = reports.map(({ usage, ...rest }) => ({ ...usageEvent(rest), usage: { ...usual.usage, ...usage } }))
    // A sum of repeated numbers must stay within its column.
    for (let times = 0; times < 3; times++) {
      const again = events.map((event) => ({ ...event, requestId: usageEvent().requestId }))
      await consumeUsage(ledger, [messageOf(...again)])
    }
    await sumUpNotes(ledger.database)
    expect(await notes()).toBe(0)
  })
  await fc.assert(run, { numRuns: 25 })
}, 120_000)

test('the service sums up the notes of reports, also those that a former process left', async () => {
  await consumeUsage(ledger, [messageOf(usageEvent({ account: 'before' }))])
  await using _ = keepUsageSums(ledger.database, ledger.logger)
  await expect.poll(notes, { timeout: 30_000 }).toBe(0)
  await consumeUsage(ledger, [messageOf(usageEvent({ account: 'before' }))])
  await expect.poll(notes, { timeout: 30_000 }).toBe(0)
  const { rows } = await ledger.database.query(`select requests from metering.usage_by_day where account = 'before'`)
  expect(rows).toEqual([{ requests: 2 }])
})
