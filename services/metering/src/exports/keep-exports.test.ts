import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { exportsSection } from '@gateway/contracts/exports'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { type PostgresServer, startPostgres } from '@gateway/servers/start'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { filesIn, readExported, summarize, summarizeLedger } from '../../test/exported.ts'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { openFolder } from './destination.ts'
import { encodePart } from './encode-part.ts'
import { writeExport } from './keep-exports.ts'
import { readExports, requestRun } from './read-exports.ts'

let postgres: PostgresServer
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())

let ledger: TestLedger
let folder: string
let nowMs: number
beforeEach(async () => {
  ledger = await openLedger(postgres)
  folder = await mkdtemp(join(tmpdir(), 'gateway-exports-'))
  nowMs = at('2025-01-10T12:00:00Z')
})
afterEach(async () => {
  await ledger[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const at = (text: string) => Date.parse(text)
const running = new AbortController().signal
const consume = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])
const eventAt = (time: string, given: Parameters<typeof usageEvent>[0] = {}) =>
  usageEvent({ startedAtMs: at(time), ...given })

type Given = Partial<Parameters<typeof writeExport>[0]>
const context = (given: Given) => {
  return { database: ledger.database, logger: ledger.logger, now: () => nowMs, environment: {}, ...given }
}
const configOf = (given: object = {}) =>
  exportsSection.parse([{ id: 'files', to: pathToFileURL(folder).href, format: 'ndjson', ...given }])[0]!
const write = (given: Given = {}, holder = 'one', config = configOf()) =>
  writeExport(context(given), config, { holder, stopping: running })
const request = () => sql`update metering.exports set run_requested_at = now()`.execute(ledger.database)

async function expectAgreement(): Promise<void> {
  expect(summarize(await readExported(folder))).toEqual(await summarizeLedger(ledger.database))
}

describe('files by day', () => {
  test('rows from before the export stand in the file of their day, and none is late', async () => {
    await consume(eventAt('2025-01-08T23:59:59.999Z'), eventAt('2025-01-09T00:00:00Z'), eventAt('2025-01-09T12:00:00Z'))
    await write()
    expect(await filesIn(folder)).toEqual([
      'day=2025-01-08/part-00000001.ndjson.gz',
      'day=2025-01-09/part-00000002.ndjson.gz',
    ])
    expect((await readExported(folder)).map(({ day, late }) => [day, late])).toEqual([
      ['2025-01-08', false],
      ['2025-01-09', false],
      ['2025-01-09', false],
    ])
    await expectAgreement()
  })

  test("a day's file waits for the end of the day, and ten minutes for its last reports", async () => {
    await write()
    await consume(eventAt('2025-01-10T12:00:00Z'))
    for (const time of ['2025-01-10T23:59:59Z', '2025-01-11T00:09:59Z']) {
      nowMs = at(time)
      await write()
      expect(await filesIn(folder)).toEqual([])
    }
    nowMs = at('2025-01-11T00:10:00Z')
    await write()
    expect(await filesIn(folder)).toEqual(['day=2025-01-10/part-00000001.ndjson.gz'])
    await expectAgreement()
  })

  test('a late row stands in the next file, marked, with its own day', async () => {
    await consume(eventAt('2025-01-09T12:00:00Z'))
    await write()
    const late = eventAt('2025-01-08T12:00:00Z')
    await consume(late, eventAt('2025-01-10T12:00:00Z'))
    nowMs = at('2025-01-11T01:00:00Z')
    await write()
    const rows = await readExported(folder)
    expect(rows.find(({ request_id: id }) => id === late.requestId)).toMatchObject({
      file: 'day=2025-01-10/part-00000002.ndjson.gz',
      day: '2025-01-08',
      late: true,
      entry: 'original',
    })
    expect(rows.filter(({ late: isLate }) => isLate)).toHaveLength(1)
    await expectAgreement()
  })

  test('full files are written at once, and none has more rows than its bound and a page', async () => {
    await write()
    for (let page = 0; page < 30; page++)
      await consume(...Array.from({ length: 5 }, () => eventAt('2025-01-10T11:00:00Z')))
    await write({ mostRows: 40 })
    const perFile = Object.values(Object.groupBy(await readExported(folder), ({ file }) => file)).map(
      (of) => of!.length,
    )
    expect(perFile.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(150 - 40)
    nowMs = at('2025-01-11T01:00:00Z')
    await write({ mostRows: 40 })
    await expectAgreement()
  })

  test("an operator's request writes all rows of today, once", async () => {
    await write()
    await consume(eventAt('2025-01-10T11:00:00Z'))
    await request()
    await write()
    expect(await filesIn(folder)).toEqual(['day=2025-01-10/part-00000001.ndjson.gz'])
    await consume(eventAt('2025-01-10T11:30:00Z'))
    await write()
    expect(await filesIn(folder)).toHaveLength(1)
    nowMs = at('2025-01-11T01:00:00Z')
    await write()
    expect(await filesIn(folder)).toHaveLength(2)
    expect((await readExported(folder)).every(({ late }) => !late)).toBe(true)
    await expectAgreement()
  })
})

test('an operator sees the last file, the pending rows and the time that an ended day has waited', async () => {
  const read = async () => (await readExports(ledger.database, [configOf()], nowMs))[0]
  expect(await read()).toMatchObject({ id: 'files', last_file: null, rows: 0, pending_rows: 0, behind_seconds: 0 })
  await consume(eventAt('2025-01-09T12:00:00Z'))
  await write()
  await consume(eventAt('2025-01-10T12:00:00Z'), eventAt('2025-01-10T12:00:00Z'))
  expect(await read()).toMatchObject({ rows: 1, files: 1, pending_rows: 2, behind_seconds: 0, last_error: null })
  expect(await read()).toMatchObject({ last_file: 'day=2025-01-09/part-00000001.ndjson.gz' })
  nowMs = at('2025-01-11T01:10:00Z')
  expect(await read()).toMatchObject({ behind_seconds: 3_600 })
  expect(await requestRun(ledger.database, 'files')).toBe(true)
  await write()
  expect(await read()).toMatchObject({ rows: 3, files: 2, pending_rows: 0, behind_seconds: 0 })
})

describe('rows that change', () => {
  const asRouter = (event: UsageEvent): UsageEvent => ({
    ...event,
    reporter: 'router',
    usage: { ...event.usage, promptTokens: 7 },
  })

  test('before their file stand once, as they are', async () => {
    await write()
    const event = eventAt('2025-01-10T11:00:00Z')
    await consume(asRouter(event))
    await consume(event)
    nowMs = at('2025-01-11T01:00:00Z')
    await write()
    expect(await readExported(folder)).toMatchObject([{ entry: 'original', prompt_tokens: 90 }])
    await expectAgreement()
  })

  test('after their file are reversed and corrected in the next one', async () => {
    const event = eventAt('2025-01-09T11:00:00Z')
    await consume(asRouter(event))
    await write()
    await consume(event)
    nowMs = at('2025-01-11T01:00:00Z')
    await write()
    expect(await readExported(folder)).toMatchObject([
      { entry: 'original', prompt_tokens: 7, late: false },
      { entry: 'reversal', prompt_tokens: -7, late: true, day: '2025-01-09' },
      { entry: 'correction', prompt_tokens: 90, late: true, day: '2025-01-09' },
    ])
    await expectAgreement()
  })

  test('twice, the second time while the first correction is being written, are corrected twice', async () => {
    const lost = (promptTokens: number) => {
      const usage = { ...event.usage, promptTokens }
      return { ...event, reporter: 'router', outcome: 'edge_lost', delivered: false, usage } as const
    }
    const event = eventAt('2025-01-09T11:00:00Z')
    await consume(lost(7))
    await write()
    await consume(lost(20))
    nowMs = at('2025-01-11T01:00:00Z')
    const killed = () => Promise.reject(new Error('killed'))
    await expect(write({ openDestination: () => ({ write: killed }) })).rejects.toThrow('killed')
    await consume(event)
    await write()
    nowMs = at('2025-01-12T01:00:00Z')
    await write()
    expect((await readExported(folder)).map(({ entry, prompt_tokens: tokens }) => [entry, tokens])).toEqual([
      ['original', 7],
      ['reversal', -7],
      ['correction', 20],
      ['reversal', -20],
      ['correction', 90],
    ])
    await expectAgreement()
  })

  test('between making a file and writing it again do not change its bytes', async () => {
    const event = eventAt('2025-01-09T11:00:00Z')
    await consume(asRouter(event))
    const killed = async () => {
      await openFolder(pathToFileURL(folder).href).write('first', new Uint8Array(0))
      throw new Error('killed')
    }
    await expect(write({ openDestination: () => ({ write: killed }) })).rejects.toThrow('killed')
    await consume(event)
    await write()
    expect(await readExported(folder)).toMatchObject([{ entry: 'original', prompt_tokens: 7 }])
    nowMs = at('2025-01-11T01:00:00Z')
    await write()
    await expectAgreement()
  })
})

test('rows of transactions that end after others, and after their day, are exported all the same', async () => {
  await write()
  const slow = eventAt('2025-01-10T11:00:00Z')
  const noted = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const transaction = ledger.database.transaction().execute(async (open) => {
    await consumeUsage({ ...ledger, database: open }, [messageOf(slow)])
    noted.resolve()
    await end.promise
  })
  await noted.promise
  await consume(eventAt('2025-01-10T11:30:00Z', { account: 'acct0002' }))
  nowMs = at('2025-01-11T01:00:00Z')
  await write()
  expect(await readExported(folder)).toHaveLength(1)
  end.resolve()
  await transaction
  nowMs = at('2025-01-12T01:00:00Z')
  await write()
  expect((await readExported(folder)).find(({ request_id: id }) => id === slow.requestId)).toMatchObject({ late: true })
  await expectAgreement()
})

test('an export waits for writers that began before it, so that it misses none of their rows', async () => {
  const noted = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const transaction = ledger.database.transaction().execute(async (open) => {
    await consumeUsage({ ...ledger, database: open }, [messageOf(eventAt('2025-01-09T12:00:00Z'))])
    noted.resolve()
    await end.promise
  })
  await noted.promise
  await expect(write()).rejects.toThrow(/lock/)
  end.resolve()
  await transaction
  await write()
  expect(await readExported(folder)).toHaveLength(1)
  await expectAgreement()
})

test('an export begins while others write: each row is in its files once', async () => {
  const done = new AbortController()
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    while (!done.signal.aborted) await consume(eventAt('2025-01-09T12:00:00Z', { account: `acct000${writer}` }))
  })
  try {
    await write()
  } finally {
    done.abort()
  }
  await Promise.all(writers)
  nowMs = at('2025-01-11T01:00:00Z')
  await write()
  await expectAgreement()
})

test('a second process leaves an export alone while the first has its lease, and takes it over after that', async () => {
  await consume(eventAt('2025-01-09T12:00:00Z'))
  await write({ openDestination: () => ({ write: () => Promise.reject(new Error('killed')) }) }, 'one').catch(() => {})
  await write({}, 'two')
  expect(await filesIn(folder)).toEqual([])
  await sql`update metering.exports set leased_until = now() - interval '1 second'`.execute(ledger.database)
  await write({}, 'two')
  await expectAgreement()
})

test('rows whose partition was taken away are an error, and no file leaves them out', async () => {
  await consume(eventAt('2025-01-09T12:00:00Z'))
  await write({ openDestination: () => ({ write: () => Promise.reject(new Error('away')) }) }).catch(() => {})
  await sql`alter table metering.ledger detach partition metering.ledger_2025_01`.execute(ledger.database)
  await expect(write()).rejects.toThrow('1 rows that were still to be exported are no longer in metering.ledger')
  expect(await filesIn(folder)).toEqual([])
})

/**
 * Reports of many requests in any order, some by a router first, others late. Meanwhile the export's process dies before a file,
 * after it, and in the middle of the day; another one goes on.
 */
type Step =
  | { kind: 'report'; request: number; isRouter: boolean }
  | { kind: 'export'; dies: 'never' | 'before' | 'after'; holder: string }
  | { kind: 'day' }
  | { kind: 'request' }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('report'), request: fc.nat(11), isRouter: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('export'),
      dies: fc.constantFrom('never', 'before', 'after'),
      holder: fc.constantFrom('one', 'two'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('day') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('request') }) },
) as fc.Arbitrary<Step>

test('after any reports, replacements, delays and kills the files have each row once, and add up to the ledger', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
      const own = ledger
      await emptyTables()
      await using place = await openPlace()
      const config = configOf({ to: pathToFileURL(place.path).href })
      let clockMs = at('2025-01-10T12:00:00Z')
      const requests = Array.from({ length: 12 }, (_, index) => {
        const startedAtMs = clockMs + (index % 4) * 24 * 3_600_000 - 24 * 3_600_000
        return usageEvent({
          account: `acct000${index % 3}`,
          requestId: requestIdAt(startedAtMs),
          startedAtMs,
          claim: index % 2 === 0 ? `claim ${index % 3}` : undefined,
        })
      })
      const bytes = new Map<string, string>()
      const run = async (dies: 'never' | 'before' | 'after', holder: string) => {
        const inner = openFolder(config.to)
        const openDestination = () => ({
          async write(name: string, content: Uint8Array) {
            if (dies === 'before') throw new Error('killed')
            const text = Buffer.from(content).toString('base64')
            expect(bytes.get(name) ?? text).toBe(text)
            bytes.set(name, text)
            await inner.write(name, content)
            if (dies === 'after') throw new Error('killed')
          },
        })
        // A thread for each of so many files would take minutes.
        const parts = { database: own.database, logger: own.logger, environment: {}, mostRows: 3, encode: encodePart }
        await writeExport({ ...parts, now: () => clockMs, openDestination }, config, {
          holder,
          stopping: running,
        }).catch((error: Error) => expect(error.message).toBe('killed'))
        await sql`update metering.exports set leased_until = '-infinity'`.execute(own.database)
      }
      for (const each of steps) {
        if (each.kind === 'day') clockMs += 24 * 3_600_000
        if (each.kind === 'request')
          await sql`update metering.exports set run_requested_at = now()`.execute(own.database)
        if (each.kind === 'export') await run(each.dies, each.holder)
        if (each.kind === 'report') {
          const event = requests[each.request]!
          const lost: Partial<UsageEvent> = { reporter: 'router', outcome: 'edge_lost', delivered: false }
          const usage = { ...event.usage, promptTokens: 7 }
          await consumeUsage(own, [messageOf(each.isRouter ? { ...event, ...lost, usage } : event)])
        }
      }
      clockMs += 30 * 24 * 3_600_000
      await run('never', 'three')
      await run('never', 'three')
      expect(summarize(await readExported(place.path))).toEqual(await summarizeLedger(own.database))
    }),
    { numRuns: 40 },
  )
})

async function emptyTables(): Promise<void> {
  await sql`
    truncate metering.ledger, metering.windows, metering.usage_notes, metering.exports, metering.export_notes,
      metering.export_changes, metering.export_parts`.execute(ledger.database)
}

async function openPlace(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'gateway-exports-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

test('a file that a killed process left half written is removed, and readers never see it', async () => {
  const destination = openFolder(pathToFileURL(folder).href)
  await destination.write('day=2025-01-09/part-00000001.parquet', Buffer.from('former'))
  await destination.write('day=2025-01-09/.part-00000001.parquet.dead', Buffer.from('half'))
  await destination.write('day=2025-01-09/part-00000001.parquet', Buffer.from('whole'))
  expect(await filesIn(folder)).toEqual(['day=2025-01-09/part-00000001.parquet'])
  expect(await readFile(join(folder, 'day=2025-01-09/part-00000001.parquet'), 'utf8')).toBe('whole')
})
