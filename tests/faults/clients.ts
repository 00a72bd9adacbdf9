/**
 * Promises to the official client's helpers and to strict readers of server-sent events.
 */

import { describe, expect, test } from 'vitest'
import { userMessages, sendRaw } from '../promises/gateway.ts'
import { REPLY, QUESTION } from './request-chat.ts'
import type { Stage } from './stage.ts'

export function promiseClients(stage: () => Stage): void {
  describe('the official client', () => {
    test('assembles a stream with its helper', async () => {
      const { caller, lane } = stage()
      const request = { model: lane().model, messages: userMessages(QUESTION), stream_options: { include_usage: true } }
      const runner = caller.client.chat.completions.stream(request)
      const pieces: string[] = []
      runner.on('content', (piece) => pieces.push(piece))
      const complete = await runner.finalChatCompletion()
      expect(complete.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: REPLY } })
      expect(pieces.join('')).toBe(REPLY)
      expect(await runner.totalUsage()).toMatchObject({ completion_tokens: 3 })
    })

    test.each([false, true])('runs its loop of tools to the end (streamed: %s)', async (stream) => {
      const { caller, lane } = stage()
      const requested: string[] = []
      const weather = {
        type: 'function' as const,
        function: {
          name: 'get_weather',
          description: 'The weather of a city',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
          parse: JSON.parse,
          function: ({ city }: { city: string }) => {
            requested.push(city)
            return '21 degrees'
          },
        },
      }
      const request = { model: lane().model, messages: userMessages('What is the weather in Oslo?'), tools: [weather] }
      const runner = stream
        ? caller.client.chat.completions.runTools({ ...request, stream: true })
        : caller.client.chat.completions.runTools(request)
      expect(await runner.finalContent()).toContain('21 degrees')
      expect(requested).toEqual([expect.any(String)])
    })
  })

  test('a stream is nothing but data events of one line, each JSON, and one [DONE] at its end', async () => {
    const { caller, edges, lane } = stage()
    const body = { model: lane().model, messages: userMessages(QUESTION), stream: true }
    const response = await sendRaw(edges[0], '/v1/chat/completions', { key: caller.key, body })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const text = await response.text()
    expect(text.endsWith('\n\n')).toBe(true)
    const events = text.slice(0, -2).split('\n\n')
    for (const event of events) expect(event).toMatch(/^data: \S[^\n\r]*$/)
    const data = events.map((event) => event.slice('data: '.length))
    expect(data.indexOf('[DONE]')).toBe(data.length - 1)
    const chunks = data.slice(0, -1).map((json) => JSON.parse(json) as { object: string })
    expect(new Set(chunks.map(({ object }) => object))).toEqual(new Set(['chat.completion.chunk']))
  })
}
