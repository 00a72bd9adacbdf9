/**
 * Promises to a client that sends an `Idempotency-Key`, for each way in which the gateway runs.
 */

import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { userMessages, type Gateway, newDeveloper, send as sendJson, sendRaw } from './gateway.ts'

const SETTLED = { timeout: 60_000, interval: 100 }

export function promiseIdempotency(gateway: () => Gateway): void {
  describe('a request with an Idempotency-Key', () => {
    test.each([
      ['streamed', true],
      ['plain', false],
    ])('runs once and is paid for once, however often it is sent: %s', async (_, stream) => {
      const { urls, backends } = gateway()
      const developer = await newDeveloper(gateway())
      const question = `40 words on ${randomUUID()}`
      const body = { model: 'svc-core', messages: userMessages(question), stream }
      const headers = { 'idempotency-key': randomUUID() }
      const send = async (index: number, requested: object = body) => {
        const url = urls[index % urls.length]!
        const response = await sendRaw(url, '/v1/chat/completions', { key: developer.key, body: requested, headers })
        const replayed = response.headers.get('idempotent-replayed')
        const requestId = response.headers.get('x-request-id')
        return { status: response.status, requestId, replayed, text: await response.text() }
      }
      const together = await Promise.all([0, 1, 2, 3, 4, 5].map((index) => send(index)))
      const later = await Promise.all([0, 1].map((index) => send(index)))
      const first = together.find(({ replayed }) => replayed === null)!
      const others = [...together, ...later].filter((reply) => reply !== first)
      expect(first.status).toBe(200)
      expect(others).toEqual(others.map(() => ({ ...first, replayed: 'true' })))
      expect(backends.steadyA.calls.filter(({ body: sent }) => JSON.stringify(sent).includes(question))).toHaveLength(1)

      const another = await send(1, { ...body, stream: !stream })
      expect(another.status).toBe(400)
      expect(JSON.parse(another.text)).toEqual({
        code: 'VALIDATION_ERROR',
        error: expect.stringContaining('Idempotency-Key') as unknown,
      })
      const requests = async () => {
        const { body: usage } = await sendJson(urls[0], '/v1/usage', { key: developer.key })
        return (usage['totals'] as { requests: number }).requests
      }
      await expect.poll(requests, SETTLED).toBe(1)
    })
  })
}
