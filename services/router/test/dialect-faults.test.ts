/**
 * The faults of a first backend, for clients of the Responses and the Messages API in front of backends of every
 * dialect. The tests check the client's view of them, and the metering.
 */

import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { broken, eventsOf, good, routerOver, type StreamEvent } from './dialect-backends.ts'
import type { FakeJob } from './fake-job.ts'
import { goodChat, openStream, sendJson } from './http-backend.ts'
import { nativeOf, TARGETS } from './target-fixtures.ts'

function expectNumbers(events: StreamEvent[]): void {
  expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index))
}

const clients = clientDialects.flatMap((client) => {
  const { namedEvents } = CLIENTS[client]
  return namedEvents ? [[client, namedEvents] as const] : []
})

describe.each(clients)('a client of %s', (client, named) => {
  /** The usage in a response that the client has whole. */
  function usageReported(job: FakeJob, stream: boolean): unknown {
    expect(job.failure).toBeNull()
    if (!stream) return (JSON.parse(job.text()) as { usage: unknown }).usage
    const events = eventsOf(job)
    expect(events[0]!.type).toBe(named.first)
    expect(events.filter(({ type }) => type === named.terminal)).toEqual([events.at(-1)])
    if (named.areNumbered) expectNumbers(events)
    return named.usageIn(events)
  }

  const pairs = targetDialects.flatMap((first) =>
    targetDialects.flatMap((second) => [false, true].map((stream) => ({ first, second, stream }))),
  )
  test.each(pairs)(
    'sees the response of $second alone where $first breaks off before content (stream: $stream)',
    async ({ first, second, stream }) => {
      const { sendRequest } = await routerOver(client, [
        [first, broken(first, 'role')],
        [second, good(second)],
      ])
      const job = await sendRequest(stream)
      expect(usageReported(job, stream)).toMatchObject({ output_tokens: 3 })
      expect(job.end).toMatchObject({
        usage: { promptTokens: 9, completionTokens: 3, estimated: false },
        attempts: [
          { backend: 'a', outcome: stream ? 'reset' : 'invalid_answer' },
          { backend: 'b', outcome: 'served' },
        ],
      })
    },
  )

  test.each([429, 500, 529])('sees nothing of a status %i', async (status) => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'no' } }
    const { sendRequest } = await routerOver(client, [
      [nativeOf(client), (response) => sendJson(response, status, error)],
      ['chat', goodChat],
    ])
    const job = await sendRequest(true)
    expect(usageReported(job, true)).toMatchObject({ input_tokens: 9, output_tokens: 3 })
    expect(job.end?.attempts).toMatchObject([{ outcome: `http_${status}` }, { outcome: 'served' }])
  })

  describe.each(targetDialects)('in front of a backend that speaks %s', (dialect) => {
    test('sees nothing of a failure that a stream reports before content', async () => {
      const { sendRequest } = await routerOver(client, [
        [
          dialect,
          (response) => {
            openStream(response)
            response.end(TARGETS[dialect].written.failed)
          },
        ],
        ['chat', goodChat],
      ])
      const job = await sendRequest(true)
      expect(usageReported(job, true)).toMatchObject({ output_tokens: 3 })
      expect(job.end?.attempts).toMatchObject([{ outcome: 'error_event' }, { outcome: 'served' }])
    })

    test('has no terminal event where it breaks off after content, and the shown text is metered', async () => {
      const { opened, sendRequest } = await routerOver(client, [
        [dialect, broken(dialect, 'content')],
        ['chat', goodChat],
      ])
      const job = await sendRequest(true)
      const events = eventsOf(job)
      if (named.areNumbered) expectNumbers(events)
      expect(events.at(-1)!.type).toBe(named.text)
      expect(job.end).toBeNull()
      expect(job.failure).toMatchObject({
        code: 'UPSTREAMS_EXHAUSTED',
        attempts: [{ backend: 'a', outcome: 'reset' }],
        usage: { promptTokens: TARGETS[dialect].countsPromptFirst ? 9 : 11, completionTokens: 1, estimated: true },
      })
      expect(opened[1]!.seen).toHaveLength(0)
    })

    test.each([false, true])('gets counted tokens where it leaves the usage out (stream: %s)', async (stream) => {
      const without = (words: string) => words.replace(/,?"usage":\{(?:[^{}]|\{[^{}]*\})*\}/g, '')
      const { plain, complete } = TARGETS[dialect].written
      const { sendRequest } = await routerOver(client, [
        [
          dialect,
          (response) => {
            if (!stream) return response.end(without(JSON.stringify(plain)))
            openStream(response)
            return response.end(without(complete))
          },
        ],
      ])
      const job = await sendRequest(stream)
      const { usage } = job.end!
      expect(usage).toMatchObject({ promptTokens: 11, estimated: true })
      expect(usage.completionTokens).toBeGreaterThan(0)
      expect(usageReported(job, stream)).toMatchObject({ input_tokens: 11, output_tokens: usage.completionTokens })
    })

    test("reads its refusal, in the one shape of the router's refusals", async () => {
      const refusal = { type: 'error', error: { type: 'invalid_request_error', message: 'too odd' } }
      const { sendRequest } = await routerOver(client, [[dialect, (response) => sendJson(response, 400, refusal)]])
      const job = await sendRequest(true)
      expect(job.failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
      expect(JSON.parse(job.failure!.backendBody!)).toMatchObject({ error: { message: 'too odd' } })
    })
  })

  test('reads the name of a field that chat cannot express, and no backend is called', async () => {
    const { opened, sendRequest } = await routerOver(client, [['chat', goodChat]])
    const { failure } = await sendRequest(false, { tools: [], tool_choice: { type: 'tool', name: 'web_search' } })
    expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
    expect((JSON.parse(failure!.backendBody!) as { error: { param: string } }).error.param).toContain('tool_choice')
    expect(opened[0]!.seen).toHaveLength(0)
  })

  test('is served among equals by the backend that speaks its dialect', async () => {
    const { opened, sendRequest } = await routerOver(
      client,
      [
        ['chat', goodChat],
        [nativeOf(client), good(nativeOf(client))],
      ],
      true,
    )
    for (let i = 0; i < 4; i++) await sendRequest(false)
    expect(opened.map(({ seen }) => seen.length)).toEqual([0, 4])
  })
})
