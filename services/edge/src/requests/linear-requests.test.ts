/**
 * The edge reads a request in time that is in proportion to its bytes, for every content. That holds for the parse, the
 * contract's schema, the estimate of tokens, Auto's choice and the body that goes on.
 */

import { loadDefaultConfig } from '@gateway/config/load-config'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { cpuGrowth, LINEAR_BELOW, type Make, many } from '@gateway/testing/cpu-growth'
import { GatewayError } from '@gateway/contracts/errors'
import { describe, expect, test } from 'vitest'
import { makeOffer } from '../admission/admit.ts'
import { KINDS, type KindName } from './kinds.ts'
import { parseJson } from './parse-json.ts'
import { understand } from './understand.ts'

const { config } = loadDefaultConfig()
const SAID = { role: 'user', content: 'Hello' }
const text = (at: number) => ({ type: 'text', text: `text ${at}` })
const tool = (at: number) => ({ type: 'function', name: `f${at}`, function: { name: `f${at}` }, input_schema: {} })
const members = (n: number) => Object.fromEntries(many(n, (at) => [`x${at}`, at]))

const OF_MESSAGES: Record<string, Make> = {
  turns: (n) => ({ messages: many(n, (at) => ({ role: at % 2 ? 'assistant' : 'user', content: `text ${at}` })) }),
  'parts of a message': (n) => ({ messages: [{ role: 'user', content: many(n, text) }] }),
  'letters of a text': (n) => ({ messages: [{ role: 'user', content: 'ab '.repeat(n * 20) }] }),
  'letters without a space': (n) => ({ messages: [{ role: 'user', content: 'a'.repeat(n * 20) }] }),
  'quotes of a text': (n) => ({ messages: [{ role: 'user', content: '"\\'.repeat(n * 20) }] }),
  'letters of a data address': (n) => ({
    messages: [
      { role: 'user', content: [text(0), { type: 'image_url', image_url: { url: `data:${'a'.repeat(n * 20)}` } }] },
    ],
  }),
  'unknown members': (n) => ({ messages: [SAID], ...members(n) }),
}
const OF_TOOLS: Record<string, Make> = { tools: (n) => ({ messages: [SAID], tools: many(Math.min(n, 1_000), tool) }) }

/** The kinds that are left out have the rows of their clients' fixture. */
const ROWS: Partial<Record<KindName, Record<string, Make>>> = {
  chat: { ...OF_MESSAGES, ...OF_TOOLS },
  messages: {
    ...OF_MESSAGES,
    ...OF_TOOLS,
    'blocks of the system': (n) => ({ messages: [SAID], system: many(n, text) }),
  },
  compact: { items: (n) => ({ input: many(n, (at) => ({ role: 'user', content: `text ${at}` })) }) },
  responses: {
    items: (n) => ({ input: many(n, (at) => ({ role: 'user', content: `text ${at}` })) }),
    'calls and outputs': (n) => ({
      input: many(n, (at) => at).flatMap((at) => [
        { type: 'function_call', call_id: `c${at}`, name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: `c${at}`, output: 'x' },
      ]),
    }),
    'letters of a text': (n) => ({ input: 'ab '.repeat(n * 20) }),
    'letters of the instructions': (n) => ({ input: 'x', instructions: 'a'.repeat(n * 20) }),
    'unknown members': (n) => ({ input: 'x', ...members(n) }),
  },
  embeddings: {
    texts: (n) => ({ model: 'svc-embed', input: many(n, (at) => `text ${at}`) }),
    'letters of a text': (n) => ({ model: 'svc-embed', input: 'ab '.repeat(n * 20) }),
  },
  images: { 'letters of the prompt': (n) => ({ model: 'svc-image', prompt: 'ab '.repeat(n * 20) }) },
}

/** All that happens to a request on the event loop before its job leaves; one that is refused ends early. */
function readAndOffer(kind: KindName, bytes: Buffer): void {
  try {
    const { inference, model } = understand(config, KINDS[kind], parseJson(bytes))
    for (const plan of config.plans) makeOffer(config, plan.slug, model, inference)
    inference.conversationKey?.()
    void inference.body
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
  }
}

const kinds = Object.keys(KINDS).map((name) => {
  const kind = name as KindName
  return [kind, ROWS[kind] ?? CLIENTS[kind as ClientDialect].manyInRequest] as const
})

describe.each(kinds)('%s', (kind, rows) => {
  test.each(Object.entries(rows))('twice as many %s take twice the time', (_, make) => {
    const growth = cpuGrowth(5_000, (size) => {
      const bytes = Buffer.from(JSON.stringify({ model: 'svc-best', max_tokens: 9, ...make(size) }))
      return () => readAndOffer(kind, bytes)
    })
    expect(growth).toBeLessThan(LINEAR_BELOW)
  })
})
