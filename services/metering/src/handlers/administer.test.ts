import { operations } from '@gateway/contracts/administration/operations'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLedger, type TestLedger } from '../../test/ledger.ts'
import { messageOf, usageEvent } from '../../test/usage-events.ts'
import { consumeUsage } from '../consumers/usage.ts'
import { administer } from './administer.ts'

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

let accounts = 0
const newAccount = () => `proj${String(++accounts).padStart(4, '0')}`
const take = (...events: UsageEvent[]) => consumeUsage(ledger, [messageOf(...events)])
const seconds = (time: string) => Date.parse(time) / 1000
const NOW_MS = Date.parse('2025-01-11T12:00:00Z')

/** The cursor of a bucket, and of the groups in it after which the next page begins. */
const cursor = (from: number, ...groups: string[]) =>
  `page_${Buffer.from(JSON.stringify([from, ...groups])).toString('base64url')}`

type Name = 'usage.completions' | 'usage.images' | 'usage.costs' | 'usage.webSearchCalls' | 'usage.moderations'
interface Shown {
  data: { start_time: number; end_time: number; results: Record<string, unknown>[] }[]
  has_more: boolean
  next_page: string | null
}

async function show(name: Name, input: Record<string, unknown>, nowMs = NOW_MS): Promise<Shown> {
  const context = { database: ledger.database, now: () => nowMs }
  const reply = await administer(context, { operation: name, input })
  if (reply.kind === 'refused') throw new Error(`${reply.code} ${reply.param}`)
  operations[name].output.parse(reply.output)
  return reply.output as Shown
}

/** All pages in one. */
async function showAll(name: Name, input: Record<string, unknown>, nowMs?: number): Promise<Shown['data']> {
  const data: Shown['data'] = []
  for (let page: string | null | undefined; page !== null;) {
    const shown: Shown = await show(name, { ...input, ...(page && { page }) }, nowMs)
    data.push(...shown.data)
    page = shown.next_page
    expect(shown.has_more).toBe(page !== null)
  }
  return data
}

test('usage by day has whole days, and the groups that a caller names', async () => {
  const account = newAccount()
  await take(
    usageEvent({ account, keyId: 'key00001', userId: 'user-1', isProject: true }),
    usageEvent({ account, keyId: 'key00002', modelAsked: 'svc-core' }),
    usageEvent({ account, kind: 'images' }),
  )
  const input = { start_time: seconds('2025-01-10T09:00:00Z'), project_ids: [`proj_${account}`] }
  const [day, next] = (await show('usage.completions', input)).data
  expect(day).toMatchObject({ start_time: seconds('2025-01-10'), end_time: seconds('2025-01-11') })
  expect(day!.results).toMatchObject([
    { input_tokens: 180, output_tokens: 20, num_model_requests: 2, project_id: null, model: null, batch: null },
  ])
  expect(next!.results).toEqual([])
  const group_by = ['project_id', 'user_id', 'api_key_id', 'model']
  const [grouped] = (await show('usage.completions', { ...input, group_by })).data
  expect(grouped!.results).toMatchObject([
    { project_id: `proj_${account}`, user_id: null, api_key_id: 'key_key00002', model: 'svc-core' },
    { project_id: `proj_${account}`, user_id: 'user-1', api_key_id: 'key_key00001', model: 'svc-fast' },
  ])
  const [ofKey] = (await show('usage.completions', { ...input, api_key_ids: ['key_key00002', 'key00001'] })).data
  expect(ofKey!.results).toMatchObject([{ num_model_requests: 1 }])
})

test('costs are dollars of pay-as-you-go plans; tokens of an allowance cost nothing', async () => {
  const account = newAccount()
  const inDollars = { unit: 'usd', price: { kind: 'base', nanoUsdPerKiloToken: 4_500_000 } } as const
  await take(usageEvent({ account, ...inDollars }), usageEvent({ account, modelAsked: 'svc-core' }))
  const input = { start_time: seconds('2025-01-10'), project_ids: [`proj_${account}`], group_by: ['line_item'] }
  const [day] = (await show('usage.costs', input)).data
  expect(day!.results).toMatchObject([
    { line_item: 'svc-core', amount: { value: 0, currency: 'usd' }, quantity: 100, quantity_unit: 'tokens' },
    { line_item: 'svc-fast', amount: { value: 0.00045, currency: 'usd' }, quantity: 100 },
  ])
})

test('a thousand tags of a project and month are summed by name, and all others as `other`', async () => {
  const account = newAccount()
  const events = Array.from({ length: 1_005 }, (_, index) => {
    return usageEvent({ account, tags: { team: `t${String(index).padStart(4, '0')}`, env: 'prod' } })
  })
  await take(...events)
  await take(usageEvent({ account, tags: { team: 'late', env: 'prod' } }))
  const input = { start_time: seconds('2025-01-10'), project_ids: [`proj_${account}`], group_by: ['tag'] }
  const days = await showAll('usage.completions', input)
  const of = new Map(days.flatMap(({ results }) => results.map((one) => [one['tag'], one['num_model_requests']])))
  expect(of.size).toBe(1_001)
  expect([of.get('env=prod'), of.get('team=t0000'), of.get('team=late'), of.get('other')]).toEqual([
    1_006,
    1,
    undefined,
    7,
  ])
})

test('tools that a vendor ran are counted by their calls, and usage that the gateway has not is empty', async () => {
  const account = newAccount()
  const { usage, ...event } = usageEvent({ account })
  await take({ ...event, usage: { ...usage, toolCalls: { web_search: 3 } } })
  const input = { start_time: seconds('2025-01-10'), project_ids: [`proj_${account}`] }
  expect((await show('usage.webSearchCalls', input)).data[0]!.results).toMatchObject([
    { num_requests: 3, num_model_requests: 1 },
  ])
  expect((await show('usage.moderations', input)).data.map(({ results }) => results)).toEqual([[], []])
})

test.each([
  [{ start_time: 0, bucket_width: '1m' }, 'start_time'],
  [{ start_time: 0, limit: 32 }, 'limit'],
  [{ start_time: 9, end_time: 9 }, 'end_time'],
  [{ start_time: 0, page: 'page_nothing' }, 'page'],
  [{ start_time: 0, group_by: ['tag', 'user_id'] }, 'group_by'],
  [{ start_time: 0, surprise: 1 }, 'surprise'],
  [{ start_time: 0, page: cursor(0, 'a') }, 'page'],
  [{ start_time: 0, page: cursor(0, 'a', 'b'), group_by: ['model'] }, 'page'],
  [{ start_time: 0, page: cursor(0, 'a'), group_by: ['model', 'project_id'] }, 'page'],
  [{ start_time: 0, page: cursor(0, 'a\0b'), group_by: ['model'] }, 'page'],
  [{ start_time: 0, models: ['a\0b'] }, 'models.0'],
  [{ start_time: 0, project_ids: ['proj_a\0b'] }, 'project_ids.0'],
])('%j is refused, and the refusal names the parameter', async (input, param) => {
  await expect(show('usage.completions', input)).rejects.toThrow(`VALIDATION_ERROR ${param}`)
})

test("a project's usage has each group and the whole, and nothing of another project", async () => {
  const account = newAccount()
  await take(
    usageEvent({
      account,
      keyId: 'key00001',
      userId: 'user-1',
      isProject: true,
      tags: { team: 'search', env: 'prod' },
    }),
    usageEvent({ account, keyId: 'key00002', modelAsked: 'svc-core', isProject: true }),
    usageEvent({ account, keyId: 'key00002', kind: 'images', isProject: true }),
    usageEvent({ account: newAccount() }),
  )
  const context = { database: ledger.database, now: () => NOW_MS }
  const show = async (input: object) => {
    const days = { from: '2025-01-01', to: '2025-01-31', project_id: `proj_${account}` }
    const reply = await administer(context, { operation: 'projectViews.usage', input: { ...days, ...input } })
    if (reply.kind === 'refused') return `${reply.code} ${reply.param}`
    return operations['projectViews.usage'].output.parse(reply.output)
  }
  const named = (name: string | null, requests: number) => ({ name, requests })
  expect(await show({})).toMatchObject({
    data: [named('2025-01-10', 3)],
    totals: { requests: 3, prompt_tokens: 270, completion_tokens: 30, total_tokens: 300 },
    has_more: false,
  })
  const byKey = await show({ group_by: 'api_key' })
  expect(byKey).toMatchObject({ data: [named('key_key00002', 2), named('key_key00001', 1)], totals: { requests: 3 } })
  expect(await show({ group_by: 'user' })).toMatchObject({ data: [named(null, 2), named('user-1', 1)] })
  expect(await show({ group_by: 'model', limit: '1' })).toMatchObject({ totals: { requests: 3 }, has_more: true })
  expect(await show({ group_by: 'tag' })).toMatchObject({
    data: [named('env=prod', 1), named('team=search', 1)],
    totals: null,
  })
  expect(await show({ from: '2025-01-11' })).toMatchObject({ data: [], totals: { requests: 0 } })
  expect(await show({ project_id: 'proj_nobodys0' })).toMatchObject({ data: [], totals: { requests: 0 } })
  expect(await show({ from: '2025-02-11' })).toBe('VALIDATION_ERROR undefined')
  expect(await show({ group_by: 'colour' })).toBe('VALIDATION_ERROR group_by')
})
