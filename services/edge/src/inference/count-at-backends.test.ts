import { expect, test } from 'vitest'
import { openBackendCounts } from './count-at-backends.ts'

const QUESTION = { pool: 'nova', body: '{"messages":[{"role":"user","content":"Hi"}]}', requestId: '1' }

function counting(replies: (number | null | Error)[]) {
  const bodies: string[] = []
  let nowMs = 0
  const count = openBackendCounts(
    async ({ body }) => {
      bodies.push(body)
      const reply = replies.shift()
      if (reply instanceof Error) throw reply
      return { inputTokens: reply ?? null }
    },
    () => nowMs,
  )
  return { count, bodies, later: (ms: number) => (nowMs += ms) }
}

test('the same prompt is counted once in five minutes, for all requests', async () => {
  const { count, bodies, later } = counting([12, 13])
  expect(await count(QUESTION)).toBe(12)
  expect(await count({ ...QUESTION, requestId: '2' })).toBe(12)
  expect(bodies).toHaveLength(1)
  later(300_001)
  expect(await count(QUESTION)).toBe(13)
})

test('another pool, body or version of the API is another count', async () => {
  const { count } = counting([1, 2, 3, 4])
  const others = [{}, { pool: 'atlas' }, { body: '{}' }, { anthropicBeta: 'a' }]
  const counts = []
  for (const other of others) counts.push(await count({ ...QUESTION, ...other }))
  expect(counts).toEqual([1, 2, 3, 4])
})

test('a silent router costs one request its time, and no other for half a minute', async () => {
  const { count, bodies, later } = counting([new Error('nobody serves the subject'), 12])
  expect(await count(QUESTION)).toBeNull()
  expect(await count(QUESTION)).toBeNull()
  expect(bodies).toHaveLength(1)
  later(30_001)
  expect(await count(QUESTION)).toBe(12)
})

test('a body that is too large for a message is not sent, and a count that failed is tried again', async () => {
  const { count, bodies } = counting([null, 12])
  expect(await count({ ...QUESTION, body: 'x'.repeat(256 * 1024 + 1) })).toBeNull()
  expect(bodies).toEqual([])
  expect(await count(QUESTION)).toBeNull()
  expect(await count(QUESTION)).toBe(12)
})

test('the edge keeps the newest thousand counts', async () => {
  const { count, bodies } = counting(Array.from({ length: 2_000 }, (_, at) => at))
  for (let at = 0; at <= 1_000; at++) await count({ ...QUESTION, body: `{"a":${at}}` })
  await count({ ...QUESTION, body: '{"a":1000}' })
  expect(bodies).toHaveLength(1_001)
  await count({ ...QUESTION, body: '{"a":0}' })
  expect(bodies).toHaveLength(1_002)
})
