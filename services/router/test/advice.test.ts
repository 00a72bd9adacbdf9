/** A target's own advice when to come back reaches the client, from any target and in any form. */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { goodChat, sendJson, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const says = (status: number, headers: Record<string, string>, body: object = {}): Reply => {
  return (response) => sendJson(response, status, body, headers)
}
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toUTCString()
const retryInfo = (retryDelay: string) => ({
  error: {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }],
  },
})

/** The time left, of which a busy machine may take some. */
function expectAbout(leftMs: number | undefined, ms: number): void {
  expect(leftMs).toBeLessThanOrEqual(ms)
  expect(leftMs).toBeGreaterThan(ms - 9_000)
}

const ADVICE: [string, () => Reply, number][] = [
  ['429 with retry-after in seconds', () => says(429, { 'retry-after': '30' }), 30_000],
  ['429 with retry-after as a date', () => says(429, { 'retry-after': inSeconds(31) }), 31_000],
  ['429 with retry-after-ms', () => says(429, { 'retry-after-ms': '12500' }), 12_500],
  ['429 with RetryInfo (Google)', () => says(429, {}, retryInfo('34.07s')), 34_070],
  ['503 with retry-after', () => says(503, { 'retry-after': '20' }), 20_000],
  ['529 with retry-after (Anthropic)', () => says(529, { 'retry-after': '25' }), 25_000],
  [
    '429 whose requests are used up (OpenAI)',
    () =>
      says(429, {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-remaining-tokens': '5000',
        'x-ratelimit-reset-requests': '1m12s',
        'x-ratelimit-reset-tokens': '6m0s',
      }),
    72_000,
  ],
  [
    '429 whose tokens are used up (OpenAI)',
    () => says(429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '17.5s' }),
    17_500,
  ],
  ['429 with a delay of a year', () => says(429, { 'retry-after': '31536000' }), 300_000],
]

describe('a lone target that requests a pause', () => {
  test.for(ADVICE)('%s', async ([, reply, ms]) => {
    const a = await backend(reply())
    const under = await router(poolOver([a.url]))
    const { failure } = await under.sendRequest()
    expect(failure?.code).toBe('UPSTREAMS_EXHAUSTED')
    expectAbout(failure?.retryAfterMs, ms)
  })

  test.each(['soon', '', '-5', 'NaN', '1e999', '0x20'])(
    'retry-after: %s counts as the usual second at most',
    async (text) => {
      const a = await backend(says(429, { 'retry-after': text }))
      const { failure } = await (await router(poolOver([a.url]))).sendRequest()
      expect(failure?.retryAfterMs ?? 0).toBeLessThanOrEqual(1_000)
    },
  )
})

describe('several targets', () => {
  test('the soonest time left counts, and that of a target that was not called again', async () => {
    const [a, b] = [
      await backend(says(429, { 'retry-after': '60' })),
      await backend(says(429, { 'retry-after': '20' })),
    ]
    const under = await router(poolOver([a.url, b.url]))
    expectAbout((await under.sendRequest()).failure?.retryAfterMs, 20_000)
    b.reply = says(429, { 'retry-after': '90' })
    expectAbout((await under.sendRequest()).failure?.retryAfterMs, 60_000)
  })

  test('for any pauses, in any form, the client gets the soonest', async () => {
    const form = fc.constantFrom<(seconds: number) => Reply>(
      (seconds) => says(429, { 'retry-after': `${seconds}` }),
      (seconds) => says(429, { 'retry-after-ms': `${seconds * 1_000}` }),
      (seconds) => says(429, { 'retry-after': inSeconds(seconds) }),
      (seconds) => says(503, { 'retry-after': `${seconds}` }),
      (seconds) => says(529, { 'retry-after': `${seconds}.0` }),
      (seconds) => says(429, {}, retryInfo(`${seconds}s`)),
      (seconds) => says(429, {}, [retryInfo(`${seconds}.000s`)]),
    )
    const target = fc.record({ form, seconds: fc.integer({ min: 10, max: 290 }) })
    const targets = fc.array(target, { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(targets, async (requests) => {
        const urls = await Promise.all(
          requests.map(async ({ form: said, seconds }) => (await backend(said(seconds))).url),
        )
        const { failure } = await (await router(poolOver(urls))).sendRequest()
        expectAbout(failure?.retryAfterMs, 1_000 * Math.min(...requests.map(({ seconds }) => seconds)))
      }),
      { numRuns: 25 },
    )
  })

  test('one that has failed says nothing of when the other is back', async () => {
    const [a, b] = [await backend(says(500, {})), await backend(says(429, { 'retry-after': '40' }))]
    expectAbout((await (await router(poolOver([a.url, b.url]))).sendRequest()).failure?.retryAfterMs, 40_000)
  })

  test('where none requests a pause, there is no advice', async () => {
    const a = await backend(says(500, {}))
    expect((await (await router(poolOver([a.url]))).sendRequest()).failure?.retryAfterMs).toBeUndefined()
  })
})

test('a 529 with retry-after cools its target, and is no fault of it', async () => {
  const [a, b] = [await backend(says(529, { 'retry-after': '30' })), await backend(goodChat)]
  const under = await router(poolOver([a.url, b.url]))
  for (let i = 0; i < 4; i++) expect((await under.sendRequest()).head?.backend).toBe('b')
  expect(a.seen).toHaveLength(1)
})
