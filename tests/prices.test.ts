/**
 * The catalog, the plans and the prices, over HTTP on the whole gateway: the lists, the refusals and the bills.
 */

import { modelList, tierCatalog } from '@gateway/contracts/catalog'
import { quoteResponse } from '@gateway/contracts/quote'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type GatewayInProcess, startGatewayInProcess } from './prices/gateway-in-process.ts'
import { CONVERSATION, type Plan, PLANS, REFUSED, requestFor, type Row, TABLE, USED } from './prices/table.ts'
import { type Reply, userMessages, send, sendRaw } from './promises/gateway.ts'

let gateway: GatewayInProcess
beforeAll(async () => {
  gateway = await startGatewayInProcess()
})
afterAll(() => gateway?.[Symbol.asyncDispose]())

const post = (key: string, path: string, body: object) => send(gateway.url, path, { key, body })
const chat = (key: string, body: object) => post(key, '/v1/chat/completions', body)
const ledgerRowOf = async ({ headers }: { headers: Headers }) => {
  const row = await gateway.ledgerRow(headers.get('x-request-id')!)
  if (!row) throw new Error('the request is not in the ledger')
  return row
}

const UNIT_SIZE: Record<Plan, number> = { 'guest-device': 1e3, free: 1e3, pro: 1e3, payg: 1e9 }
const includingPlans = ({ cost }: Row) => PLANS.filter((plan) => cost[plan] !== REFUSED)

function expectPlanLimit({ status, body }: Reply, row: Row): void {
  expect({ model: row.model, status, body }).toMatchObject({
    status: 429,
    body: { error: { code: 'rate_limit_exceeded', type: 'plan_limit', retry_after_ms: 0 } },
  })
  const { message } = body['error'] as { message: string }
  expect(message).toContain(`it is included in: ${includingPlans(row).join(', ')}`)
}

describe('a mixed series over every model', () => {
  test('is over every model that is listed', async () => {
    const { body } = await send(gateway.url, '/v1/models')
    const listed = modelList.parse(body).data.map(({ id }) => id)
    expect(listed.toSorted()).toEqual([...TABLE.map(({ model }) => model), 'svc-best'].toSorted())
  })

  test.each(PLANS)('is billed on the plan %s, or refused, as the table says', async (plan) => {
    const key = await gateway.newKey(plan)
    let billed = 0
    for (const row of TABLE) {
      const { path, body } = requestFor(row)
      const cost = row.cost[plan]
      const reply = await post(key, path, body)
      if (cost === REFUSED) {
        expectPlanLimit(reply, row)
        continue
      }
      expect([row.model, reply.status]).toEqual([row.model, 200])
      const { model_asked, lane, plan: heldPlan, unit, charge, ...ledger } = await ledgerRowOf(reply)
      expect({ model_asked, lane, heldPlan, unit, charge }).toEqual({
        model_asked: row.model,
        lane: row.model,
        heldPlan: plan,
        unit: plan === 'payg' ? 'usd' : 'tokens',
        charge: cost,
      })
      expect(ledger).toMatchObject(USED[row.requestKind])
      expect(reply.headers.get('x-svc-smart-route')).toBeNull()
      billed += cost
      expect(Number(reply.headers.get('x-svc-quota-used'))).toBe(billed / UNIT_SIZE[plan])
    }
    const quota = await send(gateway.url, '/billing/quota', { key })
    expect(quota.body).toMatchObject({ planSlug: plan, used: billed / UNIT_SIZE[plan] })
  })

  test('costs the same when it is streamed', async () => {
    const key = await gateway.newKey('payg')
    for (const row of TABLE.filter(({ requestKind }) => requestKind === 'chat' || requestKind === 'thinking')) {
      const { path, body } = requestFor(row)
      const reply = await sendRaw(gateway.url, path, { key, body: { ...body, stream: true } })
      expect(await reply.text()).toContain('[DONE]')
      expect(await ledgerRowOf(reply)).toMatchObject({
        ...USED[row.requestKind],
        model_asked: row.model,
        lane: row.model,
        charge: row.cost.payg,
      })
    }
  })

  test.each(PLANS)('Auto is billed at its lane on the plan %s, which includes it', async (plan) => {
    const key = await gateway.newKey(plan)
    for (const messages of [
      CONVERSATION,
      [...CONVERSATION.slice(0, 2), ...userMessages('Say: def f(x): return sorted(x)')],
    ]) {
      const reply = await chat(key, { model: 'svc-best', messages })
      const [lane] = reply.headers.get('x-svc-smart-route')!.split(';')
      const row = TABLE.find(({ model }) => model === lane)!
      const atLane = await chat(key, { model: lane, messages })
      const ledger = await ledgerRowOf(reply)
      expect(ledger).toMatchObject({ model_asked: 'svc-best', lane })
      expect(ledger.charge).toBe((await ledgerRowOf(atLane)).charge)
      if (messages === CONVERSATION) expect(ledger.charge).toBe(row.cost[plan])
    }
  })
})

describe('a direct model', () => {
  test('names the list and the day of its rates in the ledger', async () => {
    const key = await gateway.newKey('payg')
    const { price } = await ledgerRowOf(await chat(key, { model: 'gpt-5', messages: CONVERSATION }))
    expect(price).toEqual({
      kind: 'rates',
      inputNanoUsdPerKiloToken: 1_250_000,
      cachedNanoUsdPerKiloToken: 125_000,
      outputNanoUsdPerKiloToken: 10_000_000,
      perKiloCall: { web_search: 10_000_000_000, file_search: 2_500_000_000, code_interpreter: 30_000_000_000 },
      ratesFrom: { source: '@pydantic/genai-prices 0.1.8', date: '2026-09-23' },
    })
  })

  test.each([
    ['as long as the usual rates reach', 200_000, 199_972 * 1_250 + 28 * 125 + 1_000 * 10_000],
    ['longer than that', 200_001, 199_973 * 2_500 + 28 * 250 + 1_000 * 15_000],
  ])('with a prompt %s costs the price of the list', async (_, prompt_tokens, charge) => {
    const key = await gateway.newKey('payg')
    const usage = { prompt_tokens, completion_tokens: 1_000, total_tokens: prompt_tokens + 1_000 }
    gateway.backend.fail({ model: 'sim-gemini-2.5-pro', times: 1, usage })
    const reply = await chat(key, { model: 'gemini-2.5-pro', messages: CONVERSATION })
    expect(await ledgerRowOf(reply)).toMatchObject({ prompt_tokens, cached_tokens: 28, charge })
  })
})

describe('a quote', () => {
  test.each<[string, Plan, object]>([
    ['svc-instant', 'guest-device', { multiplier: 1 }],
    ['svc-core', 'free', { multiplier: 3.75 }],
    ['svc-ultra-pro', 'pro', { multiplier: 6.7 }],
    ['svc-max', 'payg', { usd_per_million: 39.9 }],
    [
      'gpt-5',
      'payg',
      {
        ...{ input_usd_per_million: 1.25, cached_input_usd_per_million: 0.125, output_usd_per_million: 10 },
        rates_from: { source: '@pydantic/genai-prices 0.1.8', date: '2026-09-23' },
      },
    ],
  ])('for %s on %s has the price that the request then costs, and bounds it', async (model, plan, price) => {
    const key = await gateway.newKey(plan)
    const row = TABLE.find((candidate) => candidate.model === model)!
    const { body } = requestFor(row)
    const callsBefore = gateway.backend.calls.length
    const before = quoteResponse.parse((await post(key, '/v1/quote', body)).body)
    expect(gateway.backend.calls).toHaveLength(callsBefore)
    expect(before).toMatchObject({ object: 'quote', model, lane: model, reason: null, plan, price, fits: true })

    const charge = (await ledgerRowOf(await chat(key, body))).charge / UNIT_SIZE[plan]
    expect(charge).toBe(row.cost[plan]! / UNIT_SIZE[plan])
    expect(before.worst_case_charge).toBeGreaterThanOrEqual(charge)
    const after = quoteResponse.parse((await post(key, '/v1/quote', body)).body)
    expect(before.remaining - after.remaining).toBeCloseTo(charge, 9)
  })

  test('for Auto names the lane that the request then takes, and why', async () => {
    const key = await gateway.newKey('pro')
    const body = { model: 'svc-best', messages: CONVERSATION }
    const quoted = quoteResponse.parse((await post(key, '/v1/quote', body)).body)
    const { headers } = await chat(key, body)
    const [lane, reason] = headers.get('x-svc-smart-route')!.split('; ')
    expect([lane, reason]).toEqual([quoted.lane, `reason=${quoted.reason}`])
    expect(headers.get('x-svc-upstream')).toBe(quoted.pool)
  })

  test('says where even the allowance of a fresh key would not do', async () => {
    const key = await gateway.newKey('guest-device')
    const body = { model: 'svc-fast', messages: CONVERSATION, max_tokens: 150_000 }
    expect((await post(key, '/v1/quote', body)).body).toMatchObject({ remaining: 200_000, fits: false })
  })

  test.each(PLANS)('is refused on %s for the models that the plan does not include', async (plan) => {
    for (const row of TABLE.filter(({ cost, requestKind }) => cost[plan] === REFUSED && requestKind !== 'images')) {
      // Quotes have a rate, too: a guest's is below the number of rows.
      const key = await gateway.newKey(plan)
      expectPlanLimit(await post(key, '/v1/quote', requestFor(row).body), row)
    }
  })
})

describe('svc-ultra-pro', () => {
  const thinking = { model: 'svc-ultra-pro', messages: CONVERSATION }
  const disabled = { ...thinking, chat_template_kwargs: { enable_thinking: false } }
  let key: string
  beforeAll(async () => {
    key = await gateway.newKey('free')
  })

  test('with a small cap is warned of, in a header, and may well be empty', async () => {
    const { body, headers } = await chat(key, { ...thinking, max_tokens: 100 })
    expect(body).toMatchObject({ choices: [{ message: { content: '' }, finish_reason: 'length' }] })
    expect(headers.get('x-svc-warning')).toMatch(/^svc-ultra-pro .*max_tokens \(100\).* at least 2000.*enable_thinking/)
    const stream = await sendRaw(gateway.url, '/v1/chat/completions', {
      key,
      body: { ...thinking, max_tokens: 100, stream: true },
    })
    expect(stream.headers.get('x-svc-warning')).toMatch(/^svc-ultra-pro/)
    await stream.text()
  })

  test.each([
    ['2000 tokens', { ...thinking, max_tokens: 2_000 }],
    ['no cap', thinking],
    ['thinking disabled', { ...disabled, max_tokens: 100 }],
  ])('with %s responds without a warning', async (_, body) => {
    const reply = await chat(key, body)
    expect(reply.headers.get('x-svc-warning')).toBeNull()
    expect(reply.body).toMatchObject({ choices: [{ message: { content: 'one two three' }, finish_reason: 'stop' }] })
  })

  test('passes chat_template_kwargs on as they are', async () => {
    const chat_template_kwargs = { enable_thinking: false, anything: { else: [1] } }
    const reply = await chat(key, { ...thinking, chat_template_kwargs })
    expect(gateway.backend.calls.at(-1)?.body).toMatchObject({ chat_template_kwargs })
    expect((await ledgerRowOf(reply)).reasoning_tokens).toBe(0)
  })
})

describe('an announced end', () => {
  const LEGACY: Record<string, string> = {
    'svc-ultra': 'svc-core',
    'svc-ultra-pro': 'svc-pro',
    'svc-ultra-research': 'svc-research',
    'svc-chat-sm': 'svc-instant',
    'svc-chat-md': 'svc-fast',
    'svc-chat-lg': 'svc-core',
    'svc-reason': 'svc-pro',
  }

  test('appears in the headers of every response and in the list, of legacy models and no others', async () => {
    const key = await gateway.newKey('payg')
    const { data } = modelList.parse((await send(gateway.url, '/v1/models')).body)
    for (const { id, deprecation } of data) {
      const row = TABLE.find(({ model }) => model === id) ?? { model: id, requestKind: 'chat' as const }
      const { path, body } = requestFor(row)
      const replacement = LEGACY[id]
      for (const { headers } of [await post(key, path, body), await send(gateway.url, `/v1/models/${id}`)]) {
        expect([id, headers.get('deprecation')]).toEqual([id, replacement ? '@1767225600' : null])
        expect(headers.get('link')).toBe(replacement ? `</v1/models/${replacement}>; rel="successor-version"` : null)
      }
      expect(deprecation).toEqual(replacement && { since: '2026-01-01', sunset: null, replacement })
    }
  })
})

describe('the public lists', () => {
  test('need no key and say nothing of pools, backends or prices', async () => {
    for (const path of ['/v1/models', '/v1/catalog?view=tiers', '/v1/models/svc-core']) {
      const { status, body } = await send(gateway.url, path)
      expect(status).toBe(200)
      expect(JSON.stringify(body)).not.toMatch(/pool|backend|simulated|"sim-|"nova"|http|rates|usd/)
    }
  })

  test('the catalog has the nine tiers in their order', async () => {
    const { body } = await send(gateway.url, '/v1/catalog?view=tiers')
    const tiers = tierCatalog.parse(body).data
    expect(
      tiers.map(({ order, name, id, multiplier, availability }) => [order, name, id, multiplier, availability]),
    ).toEqual([
      [1, 'Auto', 'svc-best', null, 'all'],
      [2, 'Spark', 'svc-instant', 1, 'all'],
      [3, 'Bolt', 'svc-fast', 1.5, 'all'],
      [4, 'Nova', 'svc-core', 3.75, 'all'],
      [5, 'Atlas', 'svc-pro', 6.7, 'paid'],
      [6, 'Research', 'svc-research', 2.3, 'paid'],
      [7, 'Apex', 'svc-max', 13.3, 'paid'],
      [8, 'Code', 'svc-code', 1, 'paid'],
      [9, 'Vision', 'svc-vision', 1.25, 'paid'],
    ])
  })

  test('one model is the same as in the list; one that is not there: 404 MODEL_NOT_FOUND', async () => {
    const { data } = modelList.parse((await send(gateway.url, '/v1/models')).body)
    for (const entry of data) {
      expect((await send(gateway.url, `/v1/models/${encodeURIComponent(entry.id)}`)).body).toEqual(entry)
    }
    const missing = await send(gateway.url, '/v1/models/acme%2Fnothing')
    expect(missing).toMatchObject({ status: 404, body: { error: { code: 'MODEL_NOT_FOUND' } } })
    expect(missing.body['error']).toMatchObject({ message: expect.stringContaining('acme/nothing') as string })
    expect((await send(gateway.url, '/v1/models/%zz')).status).toBe(404)
  })

  test.each(['/v1/models', '/v1/models/svc-core', '/v1/catalog?view=tiers'])(
    '%s may be kept for a short while, and is not sent again while it is the same',
    async (path) => {
      const first = await sendRaw(gateway.url, path)
      expect(first.headers.get('cache-control')).toBe('public, max-age=30')
      const etag = first.headers.get('etag')!
      expect(etag).toMatch(/^"[\w-]{22}"$/)
      await first.text()
      const again = await sendRaw(gateway.url, path, { headers: { 'if-none-match': etag } })
      expect([again.status, await again.text()]).toEqual([304, ''])
      const weak = await sendRaw(gateway.url, path, { headers: { 'if-none-match': `"old", W/${etag}` } })
      expect(weak.status).toBe(304)
      const other = await sendRaw(gateway.url, path, { headers: { 'if-none-match': '"another"' } })
      expect(other.status).toBe(200)
      await other.text()
    },
  )
})

describe('a changed configuration', () => {
  const models = [
    { id: 'svc-core', name: 'Nova', order: 1, type: 'chat', pool: 'nova', multiplier: 2 },
    { id: 'acme/llama-4', ownedBy: 'acme', type: 'chat', pool: 'spark', multiplier: 1, sunsetAt: '2027-03-01' },
    {
      ...{ id: 'gpt-5', ownedBy: 'openai', type: 'chat', pool: 'direct-gpt-5', direct: true },
      rates: { inputUsdPerMillion: 2, cachedInputUsdPerMillion: 1, outputUsdPerMillion: 20, asOf: '2026-07-01' },
    },
  ]
  let keptEtag: string | null
  beforeAll(async () => {
    keptEtag = (await send(gateway.url, '/v1/models')).headers.get('etag')
    await gateway.configure({ models })
    const followed = async () => (await send(gateway.url, '/v1/models/acme%2Fllama-4')).status === 200
    await vi.waitUntil(followed, 10_000)
  })

  test('appears in the lists afterwards, under another ETag', async () => {
    const { status, body } = await send(gateway.url, '/v1/models', { headers: { 'if-none-match': keptEtag! } })
    expect(status).toBe(200)
    expect(modelList.parse(body).data.map(({ id }) => id)).toEqual(['svc-core', 'acme/llama-4', 'gpt-5'])
    expect(body['data']).toContainEqual({
      ...{ id: 'acme/llama-4', object: 'model', created: 1_767_225_600, owned_by: 'acme' },
      deprecation: { since: null, sunset: '2027-03-01', replacement: null },
    })
    const catalog = tierCatalog.parse((await send(gateway.url, '/v1/catalog?view=tiers')).body)
    expect(catalog.data).toMatchObject([{ id: 'svc-core', multiplier: 2 }])
  })

  test.each(['acme/llama-4', 'acme%2Fllama-4', 'acme%2fllama-4'])('an id with a slash is found as %s', async (path) => {
    const { status, body, headers } = await send(gateway.url, `/v1/models/${path}`)
    expect({ status, id: body['id'] }).toEqual({ status: 200, id: 'acme/llama-4' })
    expect(headers.get('sunset')).toBe('Mon, 01 Mar 2027 00:00:00 GMT')
  })

  test("its own rates replace the vendor's list, and are named so in the ledger", async () => {
    const key = await gateway.newKey('payg')
    const row = await ledgerRowOf(await chat(key, { model: 'gpt-5', messages: CONVERSATION }))
    expect(row.charge).toBe(9 * 2_000 + 28 * 1_000 + 3 * 20_000)
    expect(row.price).toMatchObject({ ratesFrom: { source: 'config', date: '2026-07-01' } })
  })
})
