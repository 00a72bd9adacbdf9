/**
 * `GET /v1/usage` over days: the whole gateway in this process, its clock in our hands.
 */

import { usageRecord } from '@gateway/contracts/usage-api'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type GatewayInProcess, startGatewayInProcess } from './prices/gateway-in-process.ts'
import { userMessages, send } from './promises/gateway.ts'

let gateway: GatewayInProcess
beforeAll(async () => {
  // Timers go on as they are.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-29T23:59:00Z') })
  gateway = await startGatewayInProcess()
})
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  vi.useRealTimers()
})

async function chat(key: string, model: string): Promise<number> {
  const { status, body } = await send(gateway.url, '/v1/chat/completions', {
    key,
    body: { model, messages: userMessages('Say: hello there') },
  })
  expect([status, body]).toEqual([200, expect.anything()])
  return (body['usage'] as { total_tokens: number }).total_tokens
}

/** A turn of a coding tool, with all turns before it. */
async function turn(key: string, turns: number, headers: Record<string, string>): Promise<number> {
  const said = Array.from({ length: turns - 1 }, (_, at) => [
    { role: 'user', content: `Turn ${at}` },
    { role: 'assistant', content: 'Done' },
  ])
  const messages = [...said.flat(), { role: 'user', content: 'Say: hello' }]
  const body = { model: 'svc-instant', max_tokens: 20, messages }
  const response = await send(gateway.url, '/v1/messages', { key, headers, body })
  expect([response.status, response.body]).toEqual([200, expect.anything()])
  const { input_tokens, cache_read_input_tokens } = response.body['usage'] as Record<string, number>
  return input_tokens! + (cache_read_input_tokens ?? 0)
}

async function usage(key: string, query: string) {
  return usageRecord.parse((await send(gateway.url, `/v1/usage${query}`, { key })).body)
}

test('two days, a turn of the month and two models of a pay-as-you-go account, to the nano-dollar', async () => {
  const key = await gateway.newKey('payg')
  const firstDay = await chat(key, 'svc-core')
  vi.setSystemTime(Date.parse('2026-11-30T00:00:00Z'))
  const secondDay = [await chat(key, 'svc-instant'), await chat(key, 'svc-core')] as const
  vi.setSystemTime(Date.parse('2026-12-01T00:00:00Z'))
  const nextMonth = await chat(key, 'svc-core')

  const dollars = (tokens: number, multiplier: number) => Math.round(tokens * 3_000 * multiplier) / 1e9
  const row = (tokens: number, cost_usd: number) =>
    expect.objectContaining({ total_tokens: tokens, cost_usd, allowance_tokens: 0 })
  const november = await usage(key, '?from=2026-11-01&to=2026-11-30')
  expect(november.data.map(({ day }) => day)).toEqual(['2026-11-29', '2026-11-30'])
  const cheap = dollars(secondDay[0], 1)
  expect(november.data).toEqual([
    row(firstDay, dollars(firstDay, 3.75)),
    row(secondDay[0] + secondDay[1], cheap + dollars(secondDay[1], 3.75)),
  ])
  const models = await usage(key, '?from=2026-11-01&to=2026-11-30&group_by=model')
  expect(models.data.map(({ model, requests }) => [model, requests])).toEqual([
    ['svc-core', 2],
    ['svc-instant', 1],
  ])
  expect(models.totals).toEqual(november.totals)
  // A query without dates covers the month that has just begun.
  expect(await usage(key, '')).toMatchObject({
    from: '2026-12-01',
    to: '2026-12-01',
    data: [{ day: '2026-12-01', requests: 1, total_tokens: nextMonth }],
  })
  const { body: quota } = await send(gateway.url, '/billing/quota', { key })
  expect(quota['used']).toBe((await usage(key, '')).totals.cost_usd)
})

test('the sessions of coding tools are listed, with the part of their prompts that a cache had, and by agent', async () => {
  vi.setSystemTime(Date.parse('2026-12-02T12:00:00Z'))
  const key = await gateway.newKey('payg')
  const session = { 'x-claude-code-session-id': '8c1f0b52-0f1c-4a0e-9f4e-0123456789ab' }
  const prompts = [await turn(key, 1, session), await turn(key, 2, session), await turn(key, 3, session)]
  const ofAgent = await turn(key, 1, { ...session, 'x-claude-code-agent-id': 'a17f3' })
  await turn(key, 1, { 'session-id': 'codex-session' })
  await chat(key, 'svc-instant')

  const sum = (figures: number[]) => figures.reduce((total, one) => total + one, 0)
  const { data, totals, group_by } = await usage(key, '?group_by=session')
  expect(group_by).toBe('session')
  expect(data.map((row) => [row.session, row.requests])).toEqual([
    [session['x-claude-code-session-id'], 4],
    ['codex-session', 1],
  ])
  expect(data[0]!.prompt_tokens).toBe(sum([...prompts, ofAgent]))
  expect(data[0]!.cached_tokens).toBeGreaterThan(0)
  expect(data[1]!.cached_tokens).toBe(0)
  // The request without a session is in no row.
  expect(totals.requests).toBe(5)
  const byAgent = await usage(key, `?group_by=agent&session=${session['x-claude-code-session-id']}`)
  expect(byAgent).toMatchObject({ session: session['x-claude-code-session-id'], totals: { requests: 4 } })
  expect(byAgent.data.map(({ agent, prompt_tokens }) => [agent, prompt_tokens])).toEqual([
    ['main', sum(prompts)],
    ['a17f3', ofAgent],
  ])
})
