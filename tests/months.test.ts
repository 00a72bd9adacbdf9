/**
 * The turn of a month: the whole gateway in this process, its clock in our hands.
 */

import { randomUUID } from 'node:crypto'
import { parseKey } from '@gateway/contracts/api-key'
import { usageRecord } from '@gateway/contracts/usage-api'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { type GatewayInProcess, startGatewayInProcess } from './prices/gateway-in-process.ts'
import { type Reply, userMessages, send, sendRaw } from './promises/gateway.ts'

const FREE_LIMIT = 1_000_000
const LAST_MOMENT = '2026-11-30T23:59:59.999Z'
const NEW_MONTH = '2026-12-01T00:00:00.000Z'

let gateway: GatewayInProcess
let key: string
const setClock = (time: string) => vi.setSystemTime(Date.parse(time))
beforeAll(async () => {
  // Timers go on as they are.
  vi.useFakeTimers({ toFake: ['Date'] })
  setClock(LAST_MOMENT)
  gateway = await startGatewayInProcess()
})
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  vi.useRealTimers()
})
beforeEach(async () => {
  setClock(LAST_MOMENT)
  key = await gateway.newKey('free')
})

const chat = { model: 'svc-instant', messages: userMessages('Say: hello there') }
const chatOnce = (body: object = chat) => send(gateway.url, '/v1/chat/completions', { key, body })
const quota = async () => (await send(gateway.url, '/billing/quota', { key })).body

/** One request that takes all that the month allows, early enough for the minute's tokens to be back by its end. */
async function useUp(): Promise<void> {
  setClock('2026-11-30T12:00:00Z')
  const usage = { prompt_tokens: FREE_LIMIT - 1, completion_tokens: 1, total_tokens: FREE_LIMIT }
  const dear = gateway.backend.fail({ usage, times: 1 })
  expect((await chatOnce()).status).toBe(200)
  dear.cancel()
  setClock(LAST_MOMENT)
}

const resetDateOf = ({ body }: Reply) => (body['error'] as { resetDate: string }).resetDate

test('an allowance that is used up in the last moment of a month is whole again in the first of the next', async () => {
  await useUp()
  expect(await quota()).toMatchObject({ used: FREE_LIMIT, remaining: 0, resetAt: NEW_MONTH })
  const refused = await chatOnce()
  expect([refused.status, resetDateOf(refused)]).toEqual([402, NEW_MONTH])

  setClock(NEW_MONTH)
  const admitted = await chatOnce()
  expect(admitted.status).toBe(200)
  expect(admitted.headers.get('x-svc-quota-reset')).toBe('2027-01-01T00:00:00.000Z')
  const { total_tokens: tokens } = admitted.body['usage'] as { total_tokens: number }
  expect(await quota()).toMatchObject({ used: tokens, resetAt: '2027-01-01T00:00:00.000Z' })
})

test('a request that runs over the turn of the month is charged to the month in which it was admitted', async () => {
  const slow = gateway.backend.fail({ paceMs: 50, times: 1 })
  const response = await sendRaw(gateway.url, '/v1/chat/completions', { key, body: { ...chat, stream: true } })
  expect(response.headers.get('x-svc-quota-reset')).toBe(NEW_MONTH)
  setClock('2026-12-01T00:00:00.500Z')
  // While it runs, it stands in nobody's way in the new month.
  const beside = await chatOnce()
  expect(beside.headers.get('x-svc-quota-used')).toBe(
    String((beside.body['usage'] as { total_tokens: number }).total_tokens),
  )
  expect(await response.text()).toContain('[DONE]')
  slow.cancel()

  const row = await gateway.ledgerRow(response.headers.get('x-request-id')!)
  expect(row).toMatchObject({ window: '2026-11' })
  expect((await quota())['used']).toBe((beside.body['usage'] as { total_tokens: number }).total_tokens)
  const november = await send(gateway.url, '/v1/usage?from=2026-11-01&to=2026-11-30', { key })
  expect(usageRecord.parse(november.body).totals).toMatchObject({ requests: 1, allowance_tokens: row!.charge / 1_000 })
})

test('a top-up counts in its month and no longer', async () => {
  const subject = parseKey(key)!.accountTag
  await useUp()
  await gateway.operate('keysTopUp', { id: randomUUID(), subject, amount: 5_000 })
  const admitted = await chatOnce()
  expect([admitted.status, admitted.headers.get('x-svc-quota-limit')]).toEqual([200, String(FREE_LIMIT + 5_000)])
  setClock(NEW_MONTH)
  expect((await chatOnce()).headers.get('x-svc-quota-limit')).toBe(String(FREE_LIMIT))
})

test('usage separates the days of both months, and each month comes to its quota', async () => {
  await useUp()
  setClock(NEW_MONTH)
  await chatOnce()
  const { body } = await send(gateway.url, '/v1/usage?from=2026-11-30&to=2026-12-01', { key })
  const { used } = await quota()
  expect(usageRecord.parse(body).data).toMatchObject([
    { day: '2026-11-30', allowance_tokens: FREE_LIMIT },
    { day: '2026-12-01', allowance_tokens: used },
  ])
})
