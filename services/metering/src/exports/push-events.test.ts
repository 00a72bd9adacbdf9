import { exportsSection } from '@gateway/contracts/exports'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { type PostgresServer, startPostgres } from '@gateway/servers/start'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Collector, startCollector, summarizeEvents } from '../../test/collector.ts'
import { summarizeLedger } from '../../test/exported.ts'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, requestIdAt, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { encodePart } from './encode-part.ts'
import { writeExport } from './keep-exports.ts'

let postgres: PostgresServer
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())

let ledger: TestLedger
let collector: Collector
beforeEach(async () => {
  ledger = await openLedger(postgres)
  collector = await startCollector()
})
afterEach(async () => {
  await collector[Symbol.asyncDispose]()
  await ledger[Symbol.asyncDispose]()
})

const NOW_MS = Date.parse('2025-01-10T12:00:00Z')
const consume = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])
const events = (count: number) =>
  Array.from({ length: count }, (_, index) => {
    const startedAtMs = NOW_MS - index
    return usageEvent({ requestId: requestIdAt(startedAtMs), startedAtMs, window: '2025-01', tokens: 10 + index })
  })

async function push({ mostRows, ...given }: { mostRows?: number; token?: string; allowPrivate?: boolean } = {}) {
  const place = { to: collector.url, format: 'cloudevents', token: '${TOKEN}', allowPrivate: true, ...given }
  const context = {
    ...{ database: ledger.database, logger: ledger.logger, environment: { TOKEN: collector.token } },
    ...{ now: () => NOW_MS, encode: encodePart, ...(mostRows !== undefined && { mostRows }) },
  }
  const config = exportsSection.parse([{ id: 'push', ...place }])[0]!
  await writeExport(context, config, { holder: 'one', stopping: new AbortController().signal })
}

test('rows of today reach the collector at once, in batches, and each once', async () => {
  await consume(...events(250))
  await push()
  expect(summarizeEvents(collector)).toEqual(await summarizeLedger(ledger.database))
  await push()
  expect([collector.events.size, collector.repeated, collector.refused]).toEqual([250, 0, []])
})

test('however the collector fails, and whether it kept a batch or not, sums are those of the ledger', async () => {
  const behaviour = fc.constantFrom('keep', 'keep', 'refuse', 'lose', 'keep and drop')
  const report = fc.record({ request: fc.nat(9), isRouter: fc.boolean() })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(report, { maxLength: 4 }), { minLength: 1, maxLength: 6 }),
      fc.array(behaviour, { maxLength: 12 }),
      async (rounds, behaviours) => {
        await sql`truncate metering.ledger, metering.windows, metering.usage_notes, metering.exports,
          metering.export_notes, metering.export_changes, metering.export_parts`.execute(ledger.database)
        collector.events.clear()
        const requests = events(10).map((event) => ({ ...event, requestId: requestIdAt(NOW_MS + ++runs) }))
        let batch = 0
        collector.behave = (response) => {
          const how = behaviours[batch++] ?? 'keep'
          if (how === 'keep') return undefined
          if (how === 'refuse') response.writeHead(503).end('not now')
          else response.destroy()
          return how === 'keep and drop' ? 'keep' : 'lose'
        }
        for (const reports of rounds) {
          const published = reports.map(({ request, isRouter }) => {
            const event = requests[request]!
            return isRouter
              ? { ...event, reporter: 'router' as const, usage: { ...event.usage, promptTokens: 7 } }
              : event
          })
          if (published.length > 0) await consume(...published)
          await push({ mostRows: 3 }).catch(() => {})
        }
        for (let left = behaviours.length; left > 0; left--) await push({ mostRows: 3 }).catch(() => {})
        await push({ mostRows: 3 })
        expect(summarizeEvents(collector)).toEqual(await summarizeLedger(ledger.database))
        expect(collector.refused).toEqual([])
      },
    ),
    { numRuns: 25 },
  )
})

test('a collector that refuses the token is named in the error, and gets the rows later', async () => {
  await consume(...events(1))
  await expect(push({ token: 'former' })).rejects.toThrow('the collector replied 400: not authorized')
  await push()
  expect(collector.events.size).toBe(1)
})

test('nothing connects to a collector of a private network that the config does not allow', async () => {
  await consume(...events(1))
  const url = collector.url
  collector.url = url.replace('http:', 'https:')
  await expect(push({ allowPrivate: false })).rejects.toThrow('is not public')
  collector.url = url
})
