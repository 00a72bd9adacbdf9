/**
 * Backends that never end a stream. The cap that was sent holds for the output, with some slack, and no stream grows
 * without a bound. The router ends it by the client's word for a full response, stops the backend, and bills the shown
 * text.
 */

import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { MOST_CHARACTERS } from '../src/core/output-limit.ts'
import { sendOver } from './endless.ts'
import { chunk, event, openStream, ROLE, type Reply } from './http-backend.ts'
import { backend, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'

const CAP_TOKENS = 100

const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, status: 'in_progress', model: 'm', output: [] }
const named = (value: { type: string }) => `event: ${value.type}\n${event(value)}`

const BEGIN: Record<TargetDialect, string> = {
  chat: ROLE,
  messages:
    named({
      type: 'message_start',
      ...{ message: { id: 'msg_1', model: 'm', usage: { input_tokens: 9, output_tokens: 1 } } },
    }) + named({ type: 'content_block_start', ...{ index: 0, content_block: { type: 'text', text: '' } } }),
  responses: named({ type: 'response.created', ...{ response: RESPONSE, sequence_number: 0 } }),
}
const PIECE: Record<TargetDialect, (text: string) => string> = {
  chat: (text) => chunk({ content: text }),
  messages: (text) => named({ type: 'content_block_delta', ...{ index: 0, delta: { type: 'text_delta', text } } }),
  responses: (text) =>
    named({
      type: 'response.output_text.delta',
      ...{ sequence_number: 1, output_index: 0, content_index: 0, delta: text },
    }),
}
const endless =
  (target: TargetDialect, text: string): Reply =>
  async (response) => {
    openStream(response)
    response.write(BEGIN[target])
    await sendOver(response, PIECE[target](text))
  }

const BODY: Record<ClientDialect, object> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: CAP_TOKENS },
  messages: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: CAP_TOKENS },
  responses: { input: 'Hi', max_output_tokens: CAP_TOKENS },
}
const FULL: Record<ClientDialect, RegExp> = {
  chat: /"finish_reason":"length"/,
  messages: /"stop_reason":"max_tokens"[^\n]*\n\n(?:.*\n)*event: message_stop/,
  responses: /"incomplete_details":\{"reason":"max_output_tokens"\}/,
}

const dialectPairs = clientDialects.flatMap((client) => targetDialects.map((target) => ({ client, target })))

async function requested(client: ClientDialect, target: TargetDialect, text: string, mostOutputTokens?: number) {
  const { url, seen } = await backend(endless(target, text))
  const { send } = await router(poolOver([url], { backend: { dialects: [target] } }))
  return {
    seen,
    send: () => send({ stream: true, includeUsage: true, dialect: client, mostOutputTokens }, BODY[client]),
  }
}

describe.each(dialectPairs)('a $client client of a $target backend', ({ client, target }) => {
  test('gets a full response once the cap is passed, and the backend is stopped', async () => {
    const { send, seen } = await requested(client, target, 'so many words go on and on. ', CAP_TOKENS)
    const job = send()
    await job.over
    expect(job.failure).toBe(null)
    expect(job.text()).toMatch(FULL[client])
    const words = job.text().match(/so many words/g)!.length
    // Each time they are seven tokens or so; a response repeats its text in its last events.
    expect(job.end!.usage.completionTokens).toBeGreaterThan(CAP_TOKENS)
    expect(job.end!.usage).toMatchObject({ estimated: true })
    expect(words).toBeLessThan(400)
    await expect.poll(() => seen[0]!.connectionClosed, SOON).toBe(undefined)
  })
})

test('a response within its cap is not touched, however long its words are', async () => {
  const text = ' '.repeat(64)
  const { url } = await backend((response) => {
    openStream(response)
    response.end(ROLE + chunk({ content: text }).repeat(CAP_TOKENS) + chunk({}, 'stop'))
  })
  const { sendRequest } = await router(poolOver([url]))
  const job = await sendRequest({ stream: true, mostOutputTokens: CAP_TOKENS }, BODY.chat)
  expect(job.text()).toContain('"finish_reason":"stop"')
  expect(job.text().split(text).length).toBe(CAP_TOKENS + 1)
})

test.each<[string, ClientDialect, TargetDialect]>([
  ['that keeps its text for the last event', 'responses', 'chat'],
  ['that keeps nothing', 'chat', 'chat'],
])('four streams without a cap, of a translation %s, end at a bound', async (_, client, target) => {
  const { send } = await requested(client, target, 'x'.repeat(16 * 1024))
  const before = process.memoryUsage().rss
  const jobs = Array.from({ length: 4 }, send)
  await Promise.all(jobs.map((job) => job.over))
  for (const job of jobs) {
    expect(job.failure).toBe(null)
    // The last events of a response repeat the text four times.
    expect(job.bytes().length).toBeLessThan(6 * MOST_CHARACTERS)
    expect(FULL[client].test(job.text())).toBe(true)
  }
  // The responses themselves are here, in the test's own hands.
  const held = jobs.reduce((sum, job) => sum + job.bytes().length, 0)
  expect(process.memoryUsage().rss - before - held).toBeLessThan(512 * 1024 * 1024)
})

test('text that a backend sends beside its content is bounded, too', async () => {
  const names = 'n'.repeat(8 * 1024)
  const { url } = await backend(async (response) => {
    openStream(response)
    response.write(ROLE + chunk({ content: 'Hi' }))
    await sendOver(response, event({ id: 'c1', model: 'm', choices: [{ index: 0, delta: { other: names } }] }))
  })
  const { sendRequest } = await router(poolOver([url]))
  const job = await sendRequest({ stream: true, includeUsage: true, dialect: 'responses' }, BODY.responses)
  expect(job.failure).toBe(null)
  expect(FULL.responses.test(job.text())).toBe(true)
})
