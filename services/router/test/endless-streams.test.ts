/**
 * Backends that never end a stream. The cap that was sent holds for the output, with some slack, and no stream grows
 * without a bound. The router ends it by the client's word for a full response, stops the backend, and bills the shown
 * text.
 */

import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { MOST_CHARACTERS } from '../src/core/output-limit.ts'
import { sendOver } from './endless.ts'
import { chunk, event, openStream, ROLE, type Reply } from './http-backend.ts'
import { backend, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { TARGETS } from './target-fixtures.ts'

const CAP_TOKENS = 100

const endless =
  (target: TargetDialect, text: string): Reply =>
  async (response) => {
    openStream(response)
    response.write(TARGETS[target].written.content)
    await sendOver(response, TARGETS[target].textPiece(text))
  }

const bodyOf = (client: ClientDialect) => CLIENTS[client].body('Hi', CAP_TOKENS)

const dialectPairs = clientDialects.flatMap((client) => targetDialects.map((target) => ({ client, target })))

async function requested(client: ClientDialect, target: TargetDialect, text: string, mostOutputTokens?: number) {
  const { url, seen } = await backend(endless(target, text))
  const { send } = await router(poolOver([url], { backend: { dialects: [target] } }))
  return {
    seen,
    send: () => send({ stream: true, includeUsage: true, dialect: client, mostOutputTokens }, bodyOf(client)),
  }
}

describe.each(dialectPairs)('a $client client of a $target backend', ({ client, target }) => {
  test('gets a full response once the cap is passed, and the backend is stopped', async () => {
    const { send, seen } = await requested(client, target, 'so many words go on and on. ', CAP_TOKENS)
    const job = send()
    await job.over
    expect(job.failure).toBe(null)
    expect(job.text()).toMatch(CLIENTS[client].full)
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
  const job = await sendRequest({ stream: true, mostOutputTokens: CAP_TOKENS }, bodyOf('chat'))
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
    expect(CLIENTS[client].full.test(job.text())).toBe(true)
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
  const job = await sendRequest({ stream: true, includeUsage: true, dialect: 'responses' }, bodyOf('responses'))
  expect(job.failure).toBe(null)
  expect(CLIENTS.responses.full.test(job.text())).toBe(true)
})
