/**
 * Promises to clients when backends fail: they notice nothing while one is left, and never meet a silent end.
 */

import type { BackendCall, Fault } from '@gateway/stand-ins/backend'
import { describe, expect, test } from 'vitest'
import {
  userMessages,
  type Caller,
  type Gateway,
  GONE_MODEL,
  type Lane,
  newDeveloper,
  newLane,
  send,
  sendRaw,
} from './gateway.ts'

const messages = userMessages('Say: all is well')

export function promiseFailover(gateway: () => Gateway): void {
  const post = (caller: Caller, model: string) =>
    send(gateway().urls[0], '/v1/chat/completions', { key: caller.key, body: { model, messages } })
  const fail = (backend: string, fault: Fault) => gateway().backends.frail.fail({ backend, ...fault })
  const requested = ({ first, second }: Lane): string[] =>
    gateway()
      .backends.frail.calls.map((call: BackendCall) => call.backend ?? '')
      .filter((backend) => backend === first || backend === second)

  describe('failover', () => {
    test.each<[string, Fault]>([
      ['returns 500', { status: 500 }],
      ['returns 429', { status: 429, retryAfter: 1 }],
      ['has lost its credential', { status: 401 }],
      ['does not know the model', { status: 404 }],
      ['closes the connection', { disconnect: true }],
      ['resets the connection', { disconnect: true, reset: true }],
      ['is silent', { hang: true }],
      ['returns an HTML page', { html: true }],
      ['returns half a JSON', { truncatedJson: true }],
      ['returns a body that is no JSON', { garbageAfterChunks: 0 }],
      ['dies in the middle of its JSON', { dieAfterChunks: 1 }],
      ['stalls in the middle of its JSON', { stallAfterChunks: 1 }],
    ])('a backend that %s is not noticed', async (_, fault) => {
      const caller = await newDeveloper(gateway())
      const lane = newLane(gateway())
      fail(lane.first, fault)
      const { status, body } = await post(caller, lane.model)
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { choices: [{ message: { content: 'all is well' } }] },
      })
      expect(requested(lane)).toEqual([lane.first, lane.second])
    })

    test.each<[string, Fault]>([
      ['before any byte', { disconnect: true }],
      ['after its headers', { dieAfterChunks: 0 }],
      ['after the role, before any content', { dieAfterChunks: 1 }],
      ['with silence after the role', { stallAfterChunks: 1 }],
      ['with an error event after the role', { errorAfterChunks: 1 }],
    ])('a stream whose backend fails %s is served by the other', async (_, fault) => {
      const caller = await newDeveloper(gateway())
      const lane = newLane(gateway())
      fail(lane.first, fault)
      expect(await collect(caller, lane.model)).toBe('all is well')
      expect(requested(lane)).toEqual([lane.first, lane.second])
    })

    test.each<[string, Fault]>([
      ['dies', { dieAfterChunks: 3 }],
      ['stalls', { stallAfterChunks: 3 }],
      ['reports an error', { errorAfterChunks: 3 }],
      ['ends', { noFinishReason: true, noUsage: true, noDone: true }],
    ])('a stream whose backend %s after content ends with an error event, never with [DONE]', async (_, fault) => {
      const caller = await newDeveloper(gateway())
      const lane = newLane(gateway())
      fail(lane.first, fault)
      const body = { model: lane.model, messages, stream: true }
      const raw = await sendRaw(gateway().urls[0], '/v1/chat/completions', { key: caller.key, body })
      expect(raw.status).toBe(200)
      const events = (await readToTheEnd(raw)).trim().split('\n\n')
      expect(events.some((event) => event.includes('"content":"all"'))).toBe(true)
      expect(events.some((event) => event.includes('[DONE]'))).toBe(false)
      expect(JSON.parse(events.at(-1)!.slice('data: '.length))).toHaveProperty('error')
    })

    test('the official client throws where a stream breaks off', async () => {
      const caller = await newDeveloper(gateway())
      const lane = newLane(gateway())
      fail(lane.first, { dieAfterChunks: 3 })
      await expect(collect(caller, lane.model)).rejects.toThrow(/./)
    })

    test("the request's own fault is reported at once and counts against no backend", async () => {
      const caller = await newDeveloper(gateway())
      const lane = newLane(gateway())
      fail(lane.first, { status: 400, body: '{"error":{"message":"the prompt is too long"}}' })
      const { status, body } = await post(caller, lane.model)
      expect({ status, body }).toEqual({
        status: 400,
        body: {
          error: {
            message: 'the prompt is too long',
            type: 'invalid_request_error',
            param: null,
            code: 'context_length_exceeded',
            gateway_code: 'VALIDATION_ERROR',
          },
        },
      })
      expect(requested(lane)).toEqual([lane.first])
      await post(caller, lane.model)
      expect(requested(lane)).toEqual([lane.first, lane.first])
    })

    test('when no backend is left: 503 UPSTREAMS_EXHAUSTED with the tier and the attempted backends', async () => {
      const caller = await newDeveloper(gateway())
      const lane = newLane(gateway())
      const faults = [fail(lane.first, { status: 503 }), fail(lane.second, { status: 503 })]
      const { status, body } = await post(caller, lane.model)
      expect(status).toBe(503)
      expect(body).toEqual({
        error: expect.any(String),
        code: 'UPSTREAMS_EXHAUSTED',
        tier: lane.model,
        attempted: [lane.first, lane.second],
      })
      for (const fault of faults) fault.cancel()
      const again = async () => (await post(caller, lane.model)).status
      await expect.poll(again, { interval: 1_000 }).toBe(200)
    })

    test('a first backend that is not there is not noticed; once it comes, it is used', async () => {
      const caller = await newDeveloper(gateway())
      for (let turn = 0; turn < 3; turn++) expect((await post(caller, GONE_MODEL)).status).toBe(200)
      const { gone } = gateway().backends
      await gone.heal()
      const served = async () => {
        expect((await post(caller, GONE_MODEL)).status).toBe(200)
        return gone.calls.length
      }
      await expect.poll(served, { interval: 1_500 }).toBeGreaterThan(0)
    })
  })
}

async function collect(caller: Caller, model: string): Promise<string> {
  let text = ''
  for await (const chunk of await caller.client.chat.completions.create({ model, messages, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? ''
  }
  return text
}

/** A broken response may end with the connection: the text before that counts. */
async function readToTheEnd(response: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const bytes of response.body!) text += decoder.decode(bytes, { stream: true })
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
  }
  return text
}
