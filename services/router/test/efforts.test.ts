/**
 * An effort means the same in every API: a client of each dialect in front of a target of each, at every effort. The model
 * thinks as hard as was requested, or as near to it as it can.
 */

import { describe, expect, test } from 'vitest'
import type { ClientDialect, TargetDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { good } from './dialect-backends.ts'
import { startHttpBackend } from './http-backend.ts'
import { poolOver, startRouterUnderTest } from './router-under-test.ts'

type Json = Record<string, unknown>

const SCALE = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const from = (first: string, last: string) => SCALE.slice(SCALE.indexOf(first), SCALE.indexOf(last) + 1)

/** The requested effort, the next one below it that is thought, or the next one above. */
function nearest(requested: string, taken: readonly string[]): string | undefined {
  if (taken.includes(requested)) return requested
  const at = SCALE.indexOf(requested)
  const below = SCALE.slice(1, at).filter((effort) => taken.includes(effort))
  return below.at(-1) ?? SCALE.slice(at).find((effort) => taken.includes(effort))
}

const member = (object: unknown, name: string) => (object as Json | undefined)?.[name] as string | undefined

/** A budget of tokens is the effort that the same number would be. */
function effortOf(sent: Json): string | undefined {
  const { type, budget_tokens: budget } = (sent['thinking'] ?? {}) as { type?: string; budget_tokens?: number }
  if (type === 'disabled' || type === 'between_tools') return 'none'
  if (budget !== undefined) return { 1_024: 'low', 4_096: 'medium', 16_384: 'high', 32_768: 'xhigh' }[budget]
  return [
    sent['reasoning_effort'] as string | undefined,
    member(sent['reasoning'], 'effort'),
    member(sent['output_config'], 'effort'),
  ].find((effort) => effort !== undefined)
}

interface Row {
  vendor: string
  dialect: TargetDialect
  model: string
  taken: readonly string[]
}
const GPT: [string, readonly string[]][] = [
  ['o3', from('low', 'high')],
  ['gpt-5', from('minimal', 'high')],
  ['gpt-5.1', ['none', ...from('low', 'high')]],
  ['gpt-5.1-codex-max', from('low', 'xhigh')],
  ['gpt-5.4', ['none', ...from('low', 'xhigh')]],
  ['gpt-6-luna', ['none', ...from('low', 'max')]],
  ['gpt-6-astra', from('low', 'max')],
  ['gpt-7', ['none', ...from('low', 'max')]],
]
const TARGETS: Row[] = [
  ...GPT.flatMap(([model, taken]) =>
    (['chat', 'responses'] as const).map((dialect) => ({ vendor: 'openai', dialect, model, taken })),
  ),
  { vendor: 'gemini', dialect: 'chat', model: 'gemini-2.5-flash', taken: from('none', 'high') },
  { vendor: 'gemini', dialect: 'chat', model: 'gemini-3.1-pro-preview', taken: from('low', 'high') },
  { vendor: 'gemini', dialect: 'chat', model: 'gemini-4-flash', taken: from('low', 'high') },
  { vendor: 'groq', dialect: 'chat', model: 'openai/gpt-oss-120b', taken: ['none', ...from('low', 'high')] },
  { vendor: 'together', dialect: 'chat', model: 'm', taken: from('low', 'high') },
  { vendor: 'perplexity', dialect: 'chat', model: 'sonar', taken: from('minimal', 'high') },
  { vendor: 'openrouter', dialect: 'chat', model: 'x/y', taken: from('none', 'xhigh') },
  { vendor: 'anthropic', dialect: 'messages', model: 'claude-sonnet-4-5', taken: ['none', ...from('low', 'xhigh')] },
  {
    vendor: 'anthropic',
    dialect: 'messages',
    model: 'claude-opus-4-6',
    taken: ['none', 'low', 'medium', 'high', 'max'],
  },
  { vendor: 'anthropic', dialect: 'messages', model: 'claude-opus-4-8', taken: ['none', ...from('low', 'max')] },
  { vendor: 'anthropic', dialect: 'messages', model: 'claude-sonnet-5-5', taken: ['none', ...from('low', 'max')] },
  { vendor: 'anthropic', dialect: 'messages', model: 'claude-opus-5-5', taken: from('low', 'max') },
]

async function sendAll(client: ClientDialect, { vendor, dialect, model }: Omit<Row, 'taken'>) {
  const fixture = CLIENTS[client]
  await using backend = await startHttpBackend(good(dialect))
  const config = poolOver([backend.url], { backend: { vendor, dialects: [dialect] }, targets: [{ model }] })
  await using router = await startRouterUnderTest(config)
  const results: { requested: string; sent: string | undefined; dropped: string[] }[] = []
  for (const requested of SCALE) {
    const { head, failure } = await router.sendRequest(
      { dialect: client },
      { ...fixture.body('Hi', 64_000), ...fixture.effort.write(requested) },
    )
    expect(failure).toBeNull()
    results.push({ requested, sent: effortOf(backend.seen.at(-1)!.body), dropped: head!.droppedParams ?? [] })
  }
  return results
}

describe.each(['chat', 'responses', 'messages'] as const)('a client of %s', (client) => {
  test.each(TARGETS.filter(({ dialect }) => dialect === 'chat' || dialect !== client))(
    'is served by $vendor’s $model over $dialect with the effort nearest to the requested one',
    async (row) => {
      for (const { requested, sent, dropped } of await sendAll(client, row)) {
        const isSilenced = requested === 'none' && !row.taken.includes('none')
        // A client of Messages that wants no thoughts names no effort.
        if (client === 'messages' && isSilenced) expect([sent, dropped]).toEqual([undefined, ['thinking']])
        else {
          // The older models think only on request.
          const isBare = requested === 'none' && row.dialect === 'messages' && sent === undefined
          expect([requested, isBare ? 'none' : sent]).toEqual([requested, nearest(requested, row.taken)])
          expect(dropped).toEqual(isSilenced ? [CLIENTS[client].effort.refused] : [])
        }
      }
    },
  )

  test('is served by a server of which nothing is known with the efforts that all know', async () => {
    const sent = (await sendAll(client, { vendor: 'vllm', dialect: 'chat', model: 'own' })).map((one) => one.sent)
    const low = ['low', 'medium', 'high']
    expect(sent).toEqual(
      {
        chat: SCALE,
        responses: ['none', 'minimal', ...low, 'high', 'high'],
        messages: [undefined, 'low', ...low, 'high', 'high'],
      }[client],
    )
  })
})
