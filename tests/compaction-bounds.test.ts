/**
 * A vendor may compact a conversation within a request, and bills the summary beside the response. The edge reads the request
 * and reserves, a vendor uses all of it, the router reads the bill.
 */

import * as fc from 'fast-check'
import { planConfig, poolConfig, servedModelConfig, type GatewayConfig } from '@gateway/contracts/config'
import { chargeFor } from '../packages/pricing/src/charge.ts'
import { expect, test } from 'vitest'
import { makeOffer } from '../services/edge/src/admission/admit.ts'
import { messages } from '../services/edge/src/requests/messages.ts'
import { responses } from '../services/edge/src/requests/responses.ts'
import { readMessagesUsage } from '../services/router/src/dialects/messages-to-messages/response.ts'

const KINDS = { messages, responses }
const WINDOW = 200_000
const LANE = servedModelConfig.parse({
  ...{ id: 'm', type: 'chat', pool: 'p', multiplier: 1.5, maxOutputTokens: 4_000 },
  ...{ hostedTools: ['web_search'], maxToolCalls: 3 },
})
const PLAN = planConfig.parse({ slug: 'free', limit: 1, rpm: 1, tpm: 1 })
const POOL = poolConfig.parse({ id: 'p', targets: [{ backend: 'b', model: 'm', contextWindow: WINDOW }] })
const CONFIG: GatewayConfig = { revision: 'r', backends: [], pools: [POOL], models: [LANE], plans: [PLAN] }

interface Wanted {
  dialect: 'messages' | 'responses'
  bytes: number
  threshold: number | undefined
  cap: number
  instructions?: string
  searches?: boolean
}

function offered({ dialect, bytes, threshold, cap, instructions, searches = false }: Wanted) {
  const text = 'x'.repeat(bytes)
  const type = dialect === 'messages' ? 'web_search_20250305' : 'web_search'
  const tools = searches ? [{ type, name: 'web_search' }] : undefined
  const trigger = threshold === undefined ? undefined : { type: 'input_tokens', value: threshold }
  const edits = [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112', trigger, instructions }]
  const context_management =
    dialect === 'messages' ? { edits } : [{ type: 'compaction', compact_threshold: threshold, instructions }]
  const body = { model: 'm', tools, context_management }
  const complete =
    dialect === 'messages'
      ? { ...body, max_tokens: cap, messages: [{ role: 'user', content: text }] }
      : { ...body, max_output_tokens: cap, input: text }
  return makeOffer(CONFIG, PLAN.slug, LANE, KINDS[dialect](complete, CONFIG.models)).chosen!
}

test('a request that its vendor compacts never costs more than was reserved', () => {
  const requests = fc.record({
    dialect: fc.constantFrom('messages' as const, 'responses' as const),
    bytes: fc.integer({ min: 1, max: 150_000 }),
    threshold: fc.option(fc.integer({ min: 50_000, max: 150_000 }), { nil: undefined }),
    cap: fc.integer({ min: 16, max: 20_000 }),
    instructions: fc.string({ maxLength: 200 }),
    searches: fc.boolean(),
  })
  fc.assert(
    fc.property(requests, fc.nat(100), fc.nat(100), (request, usedPart, summaryPart) => {
      const { estimate, hosted, price, worstCharge } = offered(request)
      const least = request.threshold ?? 150_000
      const summary = Math.floor((Math.max(request.cap, LANE.maxOutputTokens!) * summaryPart) / 100)
      const iterations: { type: string; input_tokens: number; output_tokens: number }[] = []
      let prompt = Math.floor((estimate.maxPromptTokens * usedPart) / 100)
      let input = 0
      const calls = hosted?.total ?? 0
      for (let call = 0; call <= calls; call++) {
        if (prompt >= least) {
          const instructed = Buffer.byteLength(request.instructions)
          iterations.push({ type: 'compaction', input_tokens: prompt + instructed, output_tokens: summary })
          prompt = Math.min(prompt, 1_000 + summary)
        }
        iterations.push({ type: 'message', input_tokens: prompt, output_tokens: 0 })
        input += prompt
        prompt = WINDOW
      }
      const usage = readMessagesUsage({ input_tokens: input, output_tokens: request.cap, iterations })!
      expect(chargeFor(price, { ...usage, toolCalls: { web_search: calls } })).toBeLessThanOrEqual(worstCharge)
    }),
    { numRuns: 300 },
  )
})

test.each(['messages', 'responses'] as const)(
  'a request of %s that is too short for its threshold reserves no compaction',
  (dialect) => {
    const short = { dialect, bytes: 10_000, cap: 100 }
    const usual = offered({ ...short, threshold: 1_000_000 })
    expect(offered({ ...short, threshold: 60_000 }).worstCharge).toBe(usual.worstCharge)
    expect(offered({ ...short, threshold: 11_000 }).worstCharge).toBeGreaterThan(2 * usual.worstCharge)
  },
)
