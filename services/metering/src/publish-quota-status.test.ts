import { createMemoryHub, type MemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { keysUsed } from '@gateway/contracts/developer-keys-api'
import { groups, subjects } from '@gateway/contracts/subjects'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordQuotaStatusRequest, type RecordQuotaStatusRequest } from '@gateway/contracts/quota-status'
import { type PostgresServer, startPostgres } from '@gateway/servers/start'
import { IN_WINDOW_MS, messageOf, usageEvent, WINDOW } from '../test/usage-events.ts'
import { createKeyUse, type QuotaStatusPublisher, startQuotaStatusPublisher } from './publish-quota-status.ts'
import { openLedger, type TestLedger } from '../test/ledger.ts'
import { consumeUsage } from './consumers/usage.ts'

test('metering publishes the last use of each key, once a minute', async () => {
  await using bus = await openMemoryBus({ hub: createMemoryHub() })
  const reported: unknown[] = []
  await bus.listen(subjects.keysUsed, (word) => {
    reported.push(...keysUsed.parse(JSON.parse(Buffer.from(word).toString())).uses)
  })
  let nowMs = 0
  const keyUse = createKeyUse(bus, () => nowMs)
  const use = (keyId: string, endedAtMs: number) => ({
    event: usageEvent({ keyId, endedAtMs }),
    rank: 2,
    charge: 1,
    sequence: 1,
  })

  keyUse.record([use('a', 300), use('b', 100), use('a', 200)])
  await expect.poll(() => reported).toHaveLength(2)
  expect(reported).toEqual([
    { keyId: 'a', usedAtMs: 300 },
    { keyId: 'b', usedAtMs: 100 },
  ])

  nowMs = 59_999
  keyUse.record([use('a', 59_000), use('c', 59_000)])
  nowMs = 60_000
  keyUse.record([use('a', 60_000)])
  await expect.poll(() => reported).toHaveLength(4)
  expect(reported.slice(2)).toEqual([
    { keyId: 'c', usedAtMs: 59_000 },
    { keyId: 'a', usedAtMs: 60_000 },
  ])
})

const CHARGE = 150_000

let postgres: PostgresServer
let running: AsyncDisposableStack
let ledger: TestLedger
let hub: MemoryHub
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  ledger = running.use(await openLedger(postgres))
  hub = createMemoryHub()
})
afterEach(() => running.disposeAsync())

async function startPublishing(): Promise<QuotaStatusPublisher & AsyncDisposable> {
  const bus = running.use(await openMemoryBus({ hub }))
  return startQuotaStatusPublisher({ ...ledger, bus, now: () => IN_WINDOW_MS })
}

/** A stand-in for keys: the last total that it received of each account. */
async function listen(): Promise<Map<string, RecordQuotaStatusRequest['totals'][number]>> {
  const received = new Map<string, RecordQuotaStatusRequest['totals'][number]>()
  const bus = running.use(await openMemoryBus({ hub }))
  await bus.serve(subjects.keysNoteStanding, groups.keys, async (payload) => {
    const { totals } = recordQuotaStatusRequest.parse(JSON.parse(Buffer.from(payload).toString()))
    for (const total of totals) received.set(total.account, total)
    return Buffer.from(JSON.stringify({ kind: 'noted' }))
  })
  return received
}

const use = (quotaStatus: QuotaStatusPublisher, account: string) =>
  consumeUsage({ ...ledger, quotaStatus }, [messageOf(usageEvent({ account }))])

test("keys receives accounts' totals soon after metering recorded them", async () => {
  const received = await listen()
  const quotaStatus = running.use(await startPublishing())
  await use(quotaStatus, 'acct0001')
  await use(quotaStatus, 'acct0001')
  const total = { account: 'acct0001', window: WINDOW, milliTokens: 2 * CHARGE, nanoUsd: 0, version: 2 }
  await expect.poll(() => received.get('acct0001')).toEqual(total)
})

test('the next process publishes totals that nobody received or a killed process did not publish, for any number of accounts', async () => {
  const forgotten = { moved() {} }
  const accounts = Array.from({ length: 1_100 }, (_, index) => `acct${String(index).padStart(4, '0')}`)
  await consumeUsage({ ...ledger, quotaStatus: forgotten }, [
    messageOf(...accounts.map((account) => usageEvent({ account }))),
  ])
  const received = await listen()
  running.use(await startPublishing())
  await expect.poll(() => [...received.keys()].sort()).toEqual(accounts)
})

test('while keys is away totals wait, and keys then receives the newest', async () => {
  const quotaStatus = running.use(await startPublishing())
  await use(quotaStatus, 'acct0001')
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  await use(quotaStatus, 'acct0001')
  const received = await listen()
  await expect.poll(() => received.get('acct0001')?.milliTokens).toBe(2 * CHARGE)
})
