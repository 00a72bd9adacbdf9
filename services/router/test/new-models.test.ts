/**
 * Models of which this version has never heard work on the day they come, and refusals teach the router the rest. The
 * known models keep the form that they take.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Capability } from '@gateway/contracts/job'
import { good } from './dialect-backends.ts'
import { goodChat, startHttpBackend, type Reply } from './http-backend.ts'
import { CLAUDE_SPELLINGS, futureClaude, futureGemini, futureGpt } from './model-ids.ts'
import { poolOver, startRouterUnderTest } from './router-under-test.ts'
import {
  complaintOf,
  NEWEST_RULES,
  strictGemini,
  strictMessages,
  strictOpenAi,
  type MessagesRules,
} from './strict-models.ts'

type Json = Record<string, unknown>

const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const TOOL = { type: 'function', function: { name: 'look', parameters: SCHEMA } }
const MESSAGES = [{ role: 'user', content: 'Hi' }]

interface Served {
  /** The last request that the backend saw. */
  sent: Json
  attempts: number
  dropped: string[]
}

/** Sends requests one after another to one model behind its own backend. */
async function serve(vendor: string, model: string, reply: Reply, bodies: Json[]): Promise<Served[]> {
  await using backend = await startHttpBackend(reply)
  const config = poolOver([backend.url], { backend: { vendor, apiKey: 'k' }, targets: [{ model }] })
  await using router = await startRouterUnderTest(config)
  const served: Served[] = []
  for (const body of bodies) {
    const before = backend.seen.length
    const { head, failure } = await router.sendRequest({}, { messages: MESSAGES, ...body })
    expect(failure).toBeNull()
    const attempts = backend.seen.length - before
    served.push({ sent: backend.seen.at(-1)!.body, attempts, dropped: head!.droppedParams ?? [] })
  }
  return served
}

const SUMMARIZED = { type: 'adaptive', display: 'summarized' }

describe('a Claude that is newer than this gateway', () => {
  test('is requested in the form of the newest generation, however a platform spells its name', async () => {
    const requested = {
      reasoning_effort: 'xhigh',
      temperature: 0,
      top_p: 0.5,
      tools: [TOOL],
      tool_choice: 'required',
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } },
    }
    await fc.assert(
      fc.asyncProperty(futureClaude, async (model) => {
        const [full, bare, none] = await serve('anthropic', model, strictMessages(NEWEST_RULES), [
          requested,
          {},
          { reasoning_effort: 'none' },
        ])
        expect(full).toMatchObject({ attempts: 1, dropped: ['temperature', 'tool_choice', 'top_p'] })
        expect(full!.sent).toMatchObject({
          thinking: SUMMARIZED,
          output_config: { effort: 'xhigh', format: { type: 'json_schema', schema: SCHEMA } },
          tool_choice: { type: 'auto' },
        })
        // It thinks anyway, and a client of chat reads its thoughts.
        expect(bare).toMatchObject({ attempts: 1, dropped: [], sent: { thinking: SUMMARIZED } })
        expect(none).toMatchObject({
          attempts: 1,
          dropped: ['reasoning_effort'],
          sent: { output_config: { effort: 'low' } },
        })
      }),
      { numRuns: 60 },
    )
  })

  const known: [family: string, major: number, minor: number | undefined, sent: Json][] = [
    ['opus', 4, 1, { thinking: { type: 'enabled', budget_tokens: 4_095 } }],
    ['sonnet', 4, 5, { thinking: { type: 'enabled', budget_tokens: 4_095 } }],
    ['haiku', 4, 5, { thinking: { type: 'enabled', budget_tokens: 4_095 } }],
    ['opus', 4, 6, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['opus', 4, 8, { thinking: SUMMARIZED, output_config: { effort: 'xhigh' } }],
    ['opus', 5, undefined, { thinking: SUMMARIZED, output_config: { effort: 'xhigh' } }],
    ['sonnet', 5, 5, { thinking: SUMMARIZED, output_config: { effort: 'xhigh' } }],
  ]
  test.each(known)('changes nothing for %s %s.%s, under any name', async (family, major, minor, expected) => {
    for (const spell of Object.values(CLAUDE_SPELLINGS)) {
      const model = spell({ family, major, minor, date: '20251001', word: '' })
      // In capitals the name has one number.
      if (minor !== undefined && !model.includes(String(minor))) continue
      const [{ sent }] = (await serve('anthropic', model, strictMessages({ ...NEWEST_RULES, budget: true }), [
        { reasoning_effort: 'xhigh', max_tokens: 4_096 },
      ])) as [Served]
      const { thinking, output_config: config } = sent
      expect({ thinking, ...(config === undefined ? {} : { output_config: config }) }).toEqual(expected)
    }
  })

  test.each([
    ['claude-opus-5', { type: 'disabled' }],
    ['claude-haiku-5-5', { type: 'disabled' }],
    ['claude-sonnet-5-5', { type: 'between_tools' }],
    ['claude-opus-4-8', undefined],
  ])('and one that can stop thinking does so where a client wants no thoughts: %s', async (model, thinking) => {
    const [{ sent, dropped }] = (await serve('anthropic', model, strictMessages({ ...NEWEST_RULES, off: true }), [
      { reasoning_effort: 'none' },
    ])) as [Served]
    expect([sent['thinking'], sent['output_config'], dropped]).toEqual([thinking, undefined, []])
  })
})

describe('a model of OpenAI’s that is newer than this gateway', () => {
  const efforts = ['none', 'low', 'medium', 'high', 'xhigh', 'max']
  test('gets no sampling while it thinks, its own name of the cap, and efforts that it knows', async () => {
    const options = { max_tokens: 50, temperature: 0, logprobs: true, top_logprobs: 2 }
    await fc.assert(
      fc.asyncProperty(futureGpt, fc.constantFrom('openai', 'azure', 'vllm'), async (model, vendor) => {
        const [thinking, silent, minimal] = await serve(vendor, model, strictOpenAi(efforts), [
          options,
          { ...options, reasoning_effort: 'none' },
          { reasoning_effort: 'minimal' },
        ])
        expect(thinking).toMatchObject({ attempts: 1, sent: { max_completion_tokens: 50 } })
        expect(thinking!.dropped.toSorted()).toEqual(['logprobs', 'temperature', 'top_logprobs'])
        expect(silent).toMatchObject({ attempts: 1, dropped: [], sent: { temperature: 0, top_logprobs: 2 } })
        expect(minimal).toMatchObject({ attempts: 1, dropped: [], sent: { reasoning_effort: 'low' } })
      }),
      { numRuns: 40 },
    )
  })

  test.each(['gpt-4.1', 'gpt-4o-mini', 'gpt-3.5-turbo', 'gpt-35-turbo', 'gpt-oss-120b', 'openai/gpt-oss-20b'])(
    'leaves %s as it was',
    async (model) => {
      const body = { max_tokens: 50, temperature: 0, reasoning_effort: 'xhigh' }
      const [{ sent, dropped }] = (await serve('vllm', model, goodChat, [body])) as [Served]
      expect([sent, dropped]).toEqual([{ model, messages: MESSAGES, ...body }, []])
    },
  )
})

test('a chat with tools reaches a model of OpenAI’s since GPT-6 over the Responses API, and an older one as it was', async () => {
  const both: Reply = (response, request, socket) =>
    good(request.path.endsWith('/responses') ? 'responses' : 'chat')(response, request, socket)
  for (const [model, isOverResponses] of [
    ['gpt-6.1-sol', true],
    ['gpt-9', true],
    ['gpt-5.4', false],
  ] as const) {
    await using backend = await startHttpBackend(both)
    const settings = { vendor: 'openai', dialects: ['chat', 'responses'] }
    const config = poolOver([backend.url], { backend: settings, targets: [{ model }] })
    await using router = await startRouterUnderTest(config)
    const sendRequest = (needs: Capability[], more: Json) =>
      router.sendRequest({ needs }, { messages: MESSAGES, ...more })
    const plain = await sendRequest(['chat'], {})
    const withTools = await sendRequest(['chat', 'tools'], { tools: [TOOL], reasoning_effort: 'high' })
    expect([plain.failure, withTools.failure]).toEqual([null, null])
    expect(JSON.parse(withTools.text())).toMatchObject({ object: 'chat.completion' })
    expect(backend.seen.map(({ path }) => path)).toEqual([
      '/v1/chat/completions',
      isOverResponses ? '/v1/responses' : '/v1/chat/completions',
    ])
  }
})

test('a Gemini that is newer than this gateway gets an effort that all of them take', async () => {
  const requested = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
  await fc.assert(
    fc.asyncProperty(futureGemini, async (model) => {
      const served = await serve(
        'gemini',
        model,
        strictGemini(['low', 'medium', 'high']),
        requested.map((effort) => ({ reasoning_effort: effort })),
      )
      expect(served.map(({ sent, attempts, dropped }) => [sent['reasoning_effort'], attempts, dropped])).toEqual([
        ['low', 1, ['reasoning_effort']],
        ...['low', 'low', 'medium', 'high', 'high', 'high'].map((effort) => [effort, 1, []]),
      ])
    }),
    { numRuns: 30 },
  )
})

describe('a refusal teaches', () => {
  const anyRules: fc.Arbitrary<MessagesRules> = fc.record({
    budget: fc.boolean(),
    adaptive: fc.boolean(),
    off: fc.boolean(),
    forced: fc.boolean(),
    sampling: fc.boolean(),
    format: fc.boolean(),
    efforts: fc.option(fc.subarray([...NEWEST_RULES.efforts!], { minLength: 1 })),
  })
  const anyRequest = fc.record(
    {
      reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'high', 'xhigh', 'max'),
      temperature: fc.constantFrom(0, 0.7),
      top_k: fc.constant(5),
      max_tokens: fc.constant(50_000),
      tools: fc.constant([TOOL]),
      response_format: fc.constant({ type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA } }),
    },
    { requiredKeys: [] },
  )
  const anyModel = fc.oneof(
    futureClaude,
    fc.constantFrom(
      'claude-opus-4-5',
      'claude-sonnet-4-6',
      'claude-opus-4-8',
      'claude-opus-5',
      'claude-sonnet-5-5',
      'our-own-name',
    ),
  )

  test('the form of a Messages model with any set of refusals, and the next request goes at once', async () => {
    await fc.assert(
      fc.asyncProperty(anyRules, anyRequest, fc.boolean(), anyModel, async (rules, options, isForced, model) => {
        const request = { ...options, ...(isForced && options.tools ? { tool_choice: 'required' } : {}) }
        const [first, second] = await serve('anthropic', model, strictMessages(rules), [request, request])
        expect(complaintOf(rules, first!.sent)).toBeNull()
        expect(second).toEqual({ ...first, attempts: 1 })
      }),
      { numRuns: 150 },
    )
  })

  test('the efforts of any model of OpenAI’s or Google’s, and another effort goes at once', async () => {
    const all = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
    const server = fc.constantFrom(
      ...([
        ['openai', 'gpt-6', strictOpenAi],
        ['vllm', 'own', strictOpenAi],
        ['gemini', 'gemini-4-pro', strictGemini],
      ] as const),
    )
    await fc.assert(
      fc.asyncProperty(
        server,
        fc.subarray(all, { minLength: 1 }),
        fc.array(fc.constantFrom(...all), { minLength: 1, maxLength: 5 }),
        async ([vendor, model, strict], efforts, requested) => {
          // Google's sentence has no list of the model's own.
          const reply = strict(efforts)
          const bodies = requested.map((effort) => ({ reasoning_effort: effort }))
          const served = await serve(vendor, model, reply, [...bodies, ...bodies])
          for (const { sent } of served) expect([undefined, ...efforts]).toContain(sent['reasoning_effort'])
          for (const { attempts } of served.slice(bodies.length)) expect(attempts).toBe(1)
        },
      ),
      { numRuns: 80 },
    )
  })
})
