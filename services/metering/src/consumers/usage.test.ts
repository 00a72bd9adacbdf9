import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { usageEvent as eventSchema, type UsageEvent } from '@gateway/contracts/usage-event'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from './usage.ts'

let postgres: PostgresServer
let ledger: TestLedger
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (ledger = await openLedger(postgres)))
afterEach(() => ledger[Symbol.asyncDispose]())

const ACCOUNT = usageEvent().account
/** 1.5x: 100 tokens cost 150,000 milli-tokens. */
const CHARGE = 150_000

test('a usage event delivered three times is charged once', async () => {
  const event = usageEvent()
  await consumeUsage(ledger, [messageOf(event), messageOf(event)])
  await consumeUsage(ledger, [messageOf(event)])
  expect(await ledger.audit(ACCOUNT)).toEqual({ rows: 1, sum: CHARGE, total: CHARGE, version: 1 })
  expect(ledger.admission.total(ACCOUNT)).toEqual({ settled: CHARGE, version: 1 })
})

/** With every field. */
const COMPLETE = usageEvent({
  planVersion: 7,
  claim: 'the claim',
  sessionId: 'the session',
  agentId: 'the agent',
  parentAgentId: 'its parent',
  compaction: 'endpoint',
  isProject: true,
  userId: 'user-1',
  endUser: 'a digest',
  tags: { team: 'search' },
  kind: 'chat',
  usage: {
    promptTokens: 70,
    completionTokens: 30,
    cachedTokens: 20,
    cacheWriteTokens: 12,
    cacheWriteHourTokens: 3,
    audioPromptTokens: 9,
    cachedAudioTokens: 4,
    audioCompletionTokens: 8,
    reasoningTokens: 5,
    images: 3,
    toolCalls: { web_search: 2 },
    vendorCostNanoUsd: 20_000_000,
    estimated: true,
  },
  outcome: 'client_gone',
  delivered: false,
  streamed: true,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
})

/** A column has the name of its field: `key_id` holds `keyId`. */
function columnsOf(fields: object): object {
  const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [inSnakeCase(name), value]))
}

/** The row of an event. A trace is not kept. */
function rowOf({ reporter, traceparent: _trace, usage, startedAtMs, endedAtMs, ...reported }: UsageEvent): object {
  return {
    ...columnsOf(reported),
    ...columnsOf(usage),
    rank: reporter === 'edge' ? 2 : 1,
    charge: CHARGE,
    replaced_charge: null,
    voided_by: null,
    voided_charge: null,
    started_at: new Date(startedAtMs),
    ended_at: new Date(endedAtMs),
    recorded_at: expect.any(Date),
  }
}

test('the event of these tests has every field of the contract', () => {
  expect(Object.keys(COMPLETE).toSorted()).toEqual(Object.keys(eventSchema.shape).toSorted())
  expect(Object.keys(COMPLETE.usage).toSorted()).toEqual(Object.keys(eventSchema.shape.usage.shape).toSorted())
})

test('all that an event says is in its row', async () => {
  await consumeUsage(ledger, [messageOf(COMPLETE)])
  const { rows } = await ledger.database.query('select * from metering.ledger')
  expect(rows).toEqual([rowOf(COMPLETE)])
})

function otherThan(value: unknown): unknown {
  if (typeof value === 'number') return value - 1
  if (typeof value === 'boolean') return !value
  if (typeof value === 'string') return `other ${value}`
  return Array.isArray(value) ? [] : {}
}

test('a report that replaces another replaces all that was not settled at admission', async () => {
  const { requestId, account, keyId, plan, planVersion, unit, window, claim, traceparent: _trace, ...rest } = COMPLETE
  const settledAtAdmission = { requestId, account, keyId, plan, planVersion, unit, window, claim }
  const others = {
    ...Object.fromEntries(Object.entries(rest).map(([field, value]) => [field, otherThan(value)])),
    reporter: 'router',
    usage: Object.fromEntries(Object.entries(rest.usage).map(([field, value]) => [field, otherThan(value)])),
    price: { kind: 'multiplier', milliTokensPerToken: 1000 },
  }
  await consumeUsage(ledger, [messageOf({ ...others, ...settledAtAdmission })])
  const [before] = (await ledger.database.query('select * from metering.ledger')).rows
  await consumeUsage(ledger, [messageOf(COMPLETE)])
  const [after] = (await ledger.database.query('select * from metering.ledger')).rows
  expect(after).toEqual({ ...rowOf(COMPLETE), replaced_charge: before!['charge'] })
  const kept = Object.keys(after!).filter((column) => isDeepStrictEqual(after![column], before![column]))
  const neverVoid = { voidedBy: null, voidedCharge: null }
  expect(kept.toSorted()).toEqual(Object.keys(columnsOf({ ...settledAtAdmission, ...neverVoid })).toSorted())
})

test("an edge's report replaces a router's and the window moves by the difference", async () => {
  const fromRouter = usageEvent({ reporter: 'router', tokens: 40, outcome: 'edge_lost', delivered: false })
  const fromEdge = { ...usageEvent({ tokens: 100 }), requestId: fromRouter.requestId }
  await consumeUsage(ledger, [messageOf(fromRouter, usageEvent())])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 2, total: 60_000 + CHARGE })

  await consumeUsage(ledger, [messageOf(fromEdge)])
  expect(await ledger.audit(ACCOUNT)).toEqual({ rows: 2, sum: 2 * CHARGE, total: 2 * CHARGE, version: 2 })
  const { rows } = await ledger.database.query(
    'select outcome, charge, replaced_charge from metering.ledger where request_id = $1',
    [fromEdge.requestId],
  )
  expect(rows).toEqual([{ outcome: 'completed', charge: CHARGE, replaced_charge: 60_000 }])
})

test("of several routers' reports of one request, the one with the highest charge stands, in any order of arrival", async () => {
  const { requestId } = usageEvent()
  const fromRouter = (tokens: number) => ({ ...usageEvent({ reporter: 'router', tokens }), requestId })
  await consumeUsage(ledger, [messageOf(fromRouter(3))])
  await consumeUsage(ledger, [messageOf(fromRouter(40), fromRouter(7))])
  await consumeUsage(ledger, [messageOf(fromRouter(9))])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1, sum: 60_000, total: 60_000 })
})

test('the store receives the tokens of the standing report, in any order of the reports', async () => {
  const { requestId } = usageEvent()
  const by = (reporter: 'edge' | 'router', tokens: number) => ({ ...usageEvent({ reporter, tokens }), requestId })
  const reported = () => ledger.admission.reported.at(-1)!.included
  await consumeUsage(ledger, [messageOf(by('router', 40))])
  expect(reported()).toEqual([{ requestId, tokens: 40, mayChange: true }])
  await consumeUsage(ledger, [messageOf(by('router', 30), usageEvent())])
  expect(reported()).toContainEqual({ requestId, tokens: 40, mayChange: true })
  await consumeUsage(ledger, [messageOf(by('edge', 35))])
  await consumeUsage(ledger, [messageOf(by('router', 90))])
  expect(reported()).toEqual([{ requestId, tokens: 35, mayChange: false }])
})

test("a row of another account says nothing of this account's request", async () => {
  const event = usageEvent()
  await consumeUsage(ledger, [messageOf(event)])
  await consumeUsage(ledger, [messageOf({ ...event, account: 'somebody' })])
  expect(ledger.admission.reported.at(-1)).toMatchObject({
    account: 'somebody',
    settled: 0,
    included: [{ requestId: event.requestId }],
  })
  expect(ledger.admission.reported.at(-1)!.included).toEqual([{ requestId: event.requestId }])
})

test("a router's report never replaces an edge's, before it, after it or beside it", async () => {
  const fromEdge = usageEvent({ tokens: 100 })
  const fromRouter = { ...usageEvent({ tokens: 999, reporter: 'router' }), requestId: fromEdge.requestId }
  await consumeUsage(ledger, [messageOf(fromRouter, fromEdge, fromRouter)])
  await consumeUsage(ledger, [messageOf(fromRouter)])
  expect(await ledger.audit(ACCOUNT)).toEqual({ rows: 1, sum: CHARGE, total: CHARGE, version: 1 })
})

test('a report that names another account than the one it replaces changes nothing', async () => {
  const fromRouter = usageEvent({ reporter: 'router', tokens: 40 })
  await consumeUsage(ledger, [messageOf(fromRouter)])
  await consumeUsage(ledger, [messageOf({ ...usageEvent(), requestId: fromRouter.requestId, account: 'somebody' })])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1, sum: 60_000, total: 60_000 })
  expect(await ledger.audit('somebody')).toMatchObject({ rows: 0, total: 0 })
})

test('the admission store releases every request of the batch, repeated ones too', async () => {
  const first = usageEvent()
  await consumeUsage(ledger, [messageOf(first)])
  ledger.admission.released.clear()
  const second = usageEvent()
  await consumeUsage(ledger, [messageOf(first, second)])
  expect([...ledger.admission.released]).toEqual(expect.arrayContaining([first.requestId, second.requestId]))

  ledger.admission.released.clear()
  await consumeUsage(ledger, [messageOf(first)])
  expect([...ledger.admission.released]).toEqual([first.requestId])
  expect(ledger.admission.total(ACCOUNT)).toEqual({ settled: 2 * CHARGE, version: 2 })
})

test('an unreadable report is parked and blocks nothing', async () => {
  const good = usageEvent()
  const garbage = { payload: Buffer.from('{"v":1,'), sequence: 7, redelivered: false }
  await consumeUsage(ledger, [garbage, messageOf(good)])
  await consumeUsage(ledger, [garbage])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1 })
  const { rows } = await ledger.database.query('select payload, stream_sequence from metering.rejected')
  expect(rows).toEqual([{ payload: garbage.payload, stream_sequence: 7 }])
})

test('an outcome that only a newer version knows is in the ledger, and is charged', async () => {
  await consumeUsage(ledger, [messageOf({ ...usageEvent(), outcome: 'paused_by_client' })])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1, sum: CHARGE, total: CHARGE })
  const { rows } = await ledger.database.query('select outcome from metering.ledger')
  expect(rows).toEqual([{ outcome: 'paused_by_client' }])
})

test('a report that PostgreSQL refuses is parked, and the rest of its batch is recorded', async () => {
  const good = Array.from({ length: 9 }, () => usageEvent())
  const withNul = usageEvent({ modelAsked: 'a\0b' })
  await consumeUsage(ledger, [messageOf(...good.slice(0, 4), withNul, ...good.slice(4))])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 9, sum: 9 * CHARGE, total: 9 * CHARGE })
  const { rows } = await ledger.database.query<{ payload: Buffer }>('select payload from metering.rejected')
  expect(rows.map(({ payload }) => JSON.parse(payload.toString()))).toEqual([withNul])
})

test('a name that is too long for an index is kept aside, and holds up nothing', async () => {
  const endless = usageEvent({ modelAsked: randomBytes(8_000).toString('base64') })
  await consumeUsage(ledger, [messageOf(usageEvent(), endless)])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1, sum: CHARGE, total: CHARGE })
  const { rows } = await ledger.database.query<{ payload: Buffer }>('select payload from metering.rejected')
  expect(rows.map(({ payload }) => JSON.parse(payload.toString()))).toEqual([endless])
})

test('a charge that would take a total beyond whole numbers is kept aside', async () => {
  const huge = { tokens: 900_000_000, price: { kind: 'multiplier', milliTokensPerToken: 1e7 } } as const
  const [first, second] = [usageEvent(huge), usageEvent(huge)]
  await consumeUsage(ledger, [messageOf(first, second)])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1, sum: 9e15, total: 9e15 })
  const { rows } = await ledger.database.query('select reason from metering.rejected')
  expect(rows).toHaveLength(1)
})

test('a report of more tokens than any request has is kept aside, and spoils nothing of its account', async () => {
  const free = { kind: 'multiplier', milliTokensPerToken: 0 } as const
  const absurd = usageEvent({ price: free })
  absurd.usage = { ...absurd.usage, promptTokens: Number.MAX_SAFE_INTEGER, completionTokens: Number.MAX_SAFE_INTEGER }
  await consumeUsage(ledger, [messageOf(absurd, usageEvent())])
  // As when the acknowledgement was lost.
  await consumeUsage(ledger, [messageOf(absurd)])
  await consumeUsage(ledger, [messageOf(usageEvent())])
  expect(await ledger.audit(ACCOUNT)).toEqual({ rows: 2, sum: 2 * CHARGE, total: 2 * CHARGE, version: 2 })
  const { rows } = await ledger.database.query('select reason from metering.rejected')
  expect(rows).toEqual([{ reason: 'no request has so many tokens' }])
})

test('a crash between the commit and the write to the store loses and doubles nothing', async () => {
  const event = usageEvent()
  const killed = { ...ledger, settlement: { ...ledger.settlement, settle: () => Promise.reject(new Error('killed')) } }
  await expect(consumeUsage(killed, [messageOf(event)])).rejects.toThrow('killed')
  expect(ledger.admission.reported).toEqual([])

  await consumeUsage(ledger, [messageOf(event)])
  expect(await ledger.audit(ACCOUNT)).toEqual({ rows: 1, sum: CHARGE, total: CHARGE, version: 1 })
  expect(ledger.admission.reported).toEqual([
    {
      ...{ account: ACCOUNT, window: '2025-01', settled: CHARGE, version: 1 },
      included: [{ requestId: event.requestId, tokens: 100, mayChange: false }],
    },
  ])
})

test('a crash before the commit leaves nothing behind', async () => {
  const event = usageEvent()
  await ledger.database.query(`
    create function metering.fail() returns trigger language plpgsql as $$ begin raise exception 'killed' using errcode = '57P01'; end $$;
    create trigger fail before insert on metering.windows for each row execute function metering.fail()`)
  await expect(consumeUsage(ledger, [messageOf(event)])).rejects.toThrow('killed')
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 0, total: 0 })

  await ledger.database.query('drop trigger fail on metering.windows')
  await consumeUsage(ledger, [messageOf(event)])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1, sum: CHARGE, total: CHARGE })
})

test('the ledger goes on while the admission store is away, and the store learns all of it when it is back', async () => {
  ledger.admission.away = true
  const events = Array.from({ length: 5 }, () => usageEvent())
  for (const event of events) await consumeUsage(ledger, [messageOf(event)])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 5, total: 5 * CHARGE })
  expect(ledger.admission.reported).toEqual([])

  ledger.admission.away = false
  await expect.poll(() => ledger.admission.released.size).toBe(5)
  expect(ledger.admission.total(ACCOUNT)).toEqual({ settled: 5 * CHARGE, version: 5 })
  const included = ledger.admission.reported.flatMap((total) => total.included)
  expect(included).toHaveLength(5)
  for (const request of included) expect(request).toMatchObject({ tokens: 100, mayChange: false })
  // Metering deletes an owed total after the store has replied.
  const owed = async () => (await ledger.database.query('select from metering.owed_totals')).rows
  await expect.poll(owed).toEqual([])
})

test('a part of the store that is away holds up no totals of the others, however many it is owed', async () => {
  const { applyTotal } = ledger.admission
  ledger.admission.applyTotal = async (total) => {
    if (total.account.startsWith('lost')) throw new Error('this part is away')
    return applyTotal.call(ledger.admission, total)
  }
  await ledger.database.query(`
    insert into metering.owed_totals (account, "window", included)
    select 'lost' || number, '2025-01', '[]' from generate_series(1, 700) as number`)
  await consumeUsage(ledger, [messageOf(usageEvent({ account: 'lost1' }))])
  const events = Array.from({ length: 5 }, () => usageEvent())
  for (const event of events) await consumeUsage(ledger, [messageOf(event)])
  await expect.poll(() => ledger.admission.released).toEqual(new Set(events.map(({ requestId }) => requestId)))
  expect(ledger.admission.total(ACCOUNT)).toEqual({ settled: 5 * CHARGE, version: 5 })
  const { rows } = await ledger.database.query(`select from metering.owed_totals where account like 'lost%'`)
  expect(rows).toHaveLength(701)
})

test('writers that meet on the same accounts and requests neither deadlock nor lose a charge', async () => {
  const accounts = Array.from({ length: 8 }, (_, index) => `acct000${index}`)
  const events = Array.from({ length: 400 }, (_, index) => usageEvent({ account: accounts[index % 8] }))
  const shuffled = () => events.toSorted(() => Math.random() - 0.5)
  const writer = async () => {
    const mine = shuffled()
    for (let start = 0; start < mine.length; start += 40)
      await consumeUsage(ledger, [messageOf(...mine.slice(start, start + 40))])
  }
  await Promise.all([writer(), writer(), writer(), writer()])
  for (const account of accounts) {
    expect(await ledger.audit(account)).toMatchObject({ rows: 50, sum: 50 * CHARGE, total: 50 * CHARGE })
    expect(ledger.admission.total(account)?.settled).toBe(50 * CHARGE)
  }
})

test("pay-as-you-go and allowance are counted apart, and the store receives the total in the plan's unit", async () => {
  const inTokens = usageEvent({ planVersion: 1 })
  const startedAtMs = inTokens.startedAtMs + 1000
  const inDollars = usageEvent({
    unit: 'usd',
    plan: 'payg',
    planVersion: 2,
    price: { kind: 'base', nanoUsdPerKiloToken: 4_500_000 },
    startedAtMs,
  })
  await consumeUsage(ledger, [messageOf(inTokens)])
  await consumeUsage(ledger, [messageOf(inDollars)])
  const { rows } = await ledger.database.query('select milli_tokens, nano_usd from metering.windows')
  expect(rows).toEqual([{ milli_tokens: CHARGE, nano_usd: 450_000 }])
  expect(ledger.admission.total(ACCOUNT)).toEqual({ settled: 450_000, version: 2 })
})

test('rows lie in the partition of the month in which the request was made', async () => {
  const times = ['2024-12-31T23:59:59.999Z', '2025-01-01T00:00:00.000Z', '2025-02-15T00:00:00Z'].map((time) =>
    Date.parse(time),
  )
  await consumeUsage(ledger, [messageOf(...times.map((startedAtMs) => usageEvent({ startedAtMs })))])
  const { rows } = await ledger.database.query(
    'select tableoid::regclass::text as partition from metering.ledger order by request_id',
  )
  expect(rows.map(({ partition }) => partition)).toEqual([
    'metering.ledger_2024_12',
    'metering.ledger_2025_01',
    'metering.ledger_2025_02',
  ])
})

test('the month, and the next two, are there before their first request', async () => {
  await ledger.partitions.ensureAhead()
  const { rows } = await ledger.database.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'metering.ledger'::regclass order by 1`,
  )
  expect(rows.map(({ name }) => name)).toEqual([
    'metering.ledger_2025_01',
    'metering.ledger_2025_02',
    'metering.ledger_2025_03',
    'metering.ledger_elsewhen',
  ])
})

test('an id of an impossible time is recorded too, once, and moves along when its month is made', async () => {
  const startedAtMs = Date.parse('2031-05-05T00:00:00Z')
  const event = usageEvent({ requestId: requestIdAt(startedAtMs) })
  await consumeUsage(ledger, [messageOf(event)])
  const partitionOf = () => ledger.database.query('select tableoid::regclass::text as partition from metering.ledger')
  expect((await partitionOf()).rows).toEqual([{ partition: 'metering.ledger_elsewhen' }])

  const { createPartitions } = await import('../db/ledger.ts')
  const later = { ...ledger, partitions: createPartitions(ledger.database, () => startedAtMs) }
  await consumeUsage(later, [messageOf(event)])
  expect((await partitionOf()).rows).toEqual([{ partition: 'metering.ledger_2031_05' }])
  expect(await ledger.audit(ACCOUNT)).toMatchObject({ rows: 1, total: CHARGE })
})
