/**
 * The worst case that is reserved for a request covers all that the vendor does within the limits that it was sent. The
 * edge reads the request and reserves, the router writes the limits, a vendor uses them up.
 */

import * as fc from 'fast-check'
import { planConfig, servedModelConfig, poolConfig, type GatewayConfig } from '@gateway/contracts/config'
import { hostedEntryOf } from '@gateway/contracts/hosted-requests'
import { hostedTools } from '@gateway/contracts/hosted-tools'
import { chargeFor } from '../packages/pricing/src/charge.ts'
import { expect, test } from 'vitest'
import { makeOffer } from '../services/edge/src/admission/admit.ts'
import { messages } from '../services/edge/src/requests/messages.ts'
import { responses } from '../services/edge/src/requests/responses.ts'
import { withPricedTools } from '../services/router/src/core/hosted-tools.ts'

const KINDS = { messages, responses }
const TYPES = {
  responses: [
    'web_search',
    'web_search_preview',
    'file_search',
    'code_interpreter',
    'image_generation',
    'mcp',
    'shell',
  ],
  messages: ['web_search_20250305', 'web_fetch_20250910', 'web_search_20260318', 'code_execution_20260521', 'unknown'],
}
const LIMITS = { limit: 1, rpm: 1, tpm: 1 }
const PLANS = [
  planConfig.parse({ slug: 'payg', unit: 'usd', payAsYouGo: true, ...LIMITS }),
  planConfig.parse({ slug: 'free', ...LIMITS }),
]

interface Sent {
  tools?: { type?: string; max_uses?: number }[]
  max_tool_calls?: number
}

/** The calls that the sent limits allow; a tool without a limit is called as often as the vendor likes. */
function limitsIn(dialect: 'messages' | 'responses', { tools = [], max_tool_calls: total = 10_000 }: Sent) {
  const hosted = tools.filter((tool) => hostedEntryOf(dialect, tool) !== null)
  const each = hosted.map((tool) => ({
    name: hostedEntryOf(dialect, tool)!.name!,
    most: dialect === 'messages' ? (tool.max_uses ?? 10_000) : total,
  }))
  return { each, total: dialect === 'messages' ? Infinity : total }
}

const usd = fc.integer({ min: 0, max: 2_000_000 }).map((micro) => micro / 1e6)
const model = fc
  .record({
    hostedTools: fc.subarray([...hostedTools]),
    toolUsdPerCall: fc.dictionary(fc.constantFrom(...hostedTools), usd),
    maxToolCalls: fc.integer({ min: 1, max: 20 }),
    rates: fc.record(
      {
        inputUsdPerMillion: usd,
        outputUsdPerMillion: usd,
        cachedInputUsdPerMillion: usd,
        cacheWriteUsdPerMillion: usd,
      },
      { requiredKeys: ['inputUsdPerMillion', 'outputUsdPerMillion'] },
    ),
    direct: fc.boolean(),
  })
  .map(({ rates, direct, ...fields }) =>
    servedModelConfig.parse({
      ...{ id: 'm', type: 'chat', pool: 'p', ...fields },
      ...(direct ? { direct, rates } : { multiplier: 1.5 }),
    }),
  )

const request = fc.constantFrom('messages' as const, 'responses' as const).chain((dialect) =>
  fc
    .record({
      tools: fc.array(
        fc.record(
          { type: fc.constantFrom(...TYPES[dialect]), name: fc.constant('t'), max_uses: fc.nat(30) },
          { requiredKeys: ['type', 'name'] },
        ),
        { maxLength: 4 },
      ),
      max_tool_calls: fc.option(fc.integer({ min: 1, max: 30 })),
      text: fc.string({ maxLength: 40 }),
      cap: fc.integer({ min: 16, max: 500 }),
    })
    .map(({ tools, max_tool_calls, text, cap }) => {
      const named = { model: 'm', tools }
      const body =
        dialect === 'messages'
          ? { ...named, max_tokens: cap, messages: [{ role: 'user', content: text || 'x' }] }
          : { ...named, max_tool_calls, max_output_tokens: cap, input: text || 'x' }
      return { dialect, body, cap }
    }),
)

/** The vendor's use, in parts of each limit. */
const appetite = fc.record({
  calls: fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 8, maxLength: 8 }),
  perCall: fc.integer({ min: 0, max: 100 }),
  cached: fc.integer({ min: 0, max: 100 }),
  written: fc.integer({ min: 0, max: 100 }),
})
const WINDOW = 10_000

test('a request within the limits that its vendor was sent never costs more than was reserved', () => {
  fc.assert(
    fc.property(request, model, fc.constantFrom(...PLANS), appetite, ({ dialect, body, cap }, lane, plan, hunger) => {
      fc.pre(!lane.direct || plan.payAsYouGo)
      const pool = poolConfig.parse({ id: 'p', targets: [{ backend: 'b', model: 'm', contextWindow: WINDOW }] })
      const config: GatewayConfig = { revision: 'r', backends: [], pools: [pool], models: [lane], plans: [plan] }
      const requested = KINDS[dialect](body, config.models)
      const { chosen } = makeOffer(config, plan.slug, lane, requested)
      const { price, hosted, worstCharge, estimate } = chosen!
      const options = { dialect, isRequested: hosted !== undefined, allowed: hosted ?? { calls: {}, total: 0 } }
      const sent = JSON.parse(withPricedTools(Buffer.from(requested.body), 'm', options).body.toString()) as Sent

      const { each, total } = limitsIn(dialect, sent)
      const toolCalls: Record<string, number> = {}
      let made = 0
      each.forEach(({ name, most }, at) => {
        const calls = Math.min(Math.floor((most * hunger.calls[at]!) / 100), total - made)
        made += calls
        toolCalls[name] = (toolCalls[name] ?? 0) + calls
      })
      const grown = Math.floor((WINDOW * hunger.perCall) / 100) * made
      const promptTokens = estimate.maxPromptTokens + grown
      const cachedTokens = Math.floor((promptTokens * hunger.cached) / 100)
      const cacheWriteTokens = Math.floor(((promptTokens - cachedTokens) * hunger.written) / 100)
      const usage = { promptTokens, completionTokens: cap, cachedTokens, cacheWriteTokens, toolCalls }
      expect(chargeFor(price, usage)).toBeLessThanOrEqual(worstCharge)
      // Without a price of its own nothing leaves that the operator has not allowed.
      for (const { name } of each) expect(lane.hostedTools).toContain(name)
    }),
    { numRuns: 500 },
  )
})
