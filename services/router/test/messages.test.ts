/**
 * Clients of the Messages API in front of backends that speak it or chat: the fields of a request that each of them
 * gets. The faults of backends: `dialect-faults.test.ts`.
 */

import { expect, test } from 'vitest'
import { good, routerOver } from './dialect-backends.ts'
import { goodChat, openStream, sendJson, type Reply } from './http-backend.ts'
import { TARGETS } from './target-fixtures.ts'

test('a backend that speaks the dialect gets the client’s bytes, version and features, and its own bytes come back', async () => {
  const { opened, sendRequest } = await routerOver('messages', [['messages', good('messages')]])
  const job = await sendRequest(true, { context_management: {} })
  expect(job.text()).toBe(TARGETS.messages.written.complete)
  const { text, headers, path } = opened[0]!.seen[0]!
  const own = '"max_tokens":50,"messages":[{"role":"user","content":"Say hello"}],"context_management":{}}'
  expect([path, text]).toEqual(['/v1/messages', `{"model":"model-a","stream":true,${own}`])
  expect(headers).toMatchObject({ 'anthropic-version': '2024-01-01', 'anthropic-beta': 'ours,theirs' })
})

test('a backend that speaks chat hears nothing of the API’s own headers', async () => {
  const { opened, sendRequest } = await routerOver('messages', [['chat', goodChat]])
  const job = await sendRequest(false, { container: 'c' })
  expect(job.head!.droppedParams).toEqual(['container'])
  expect(opened[0]!.seen[0]!.headers).not.toHaveProperty('anthropic-version')
})

test('a request that chat cannot express is refused with the name of its field, and no backend is called', async () => {
  const { opened, sendRequest } = await routerOver('messages', [['chat', goodChat]])
  const upload = [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }]
  const { failure } = await sendRequest(false, { messages: upload })
  expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
  expect(failure!.backendBody).toContain('messages[0].content[0].type')
  expect(opened[0]!.seen).toHaveLength(0)
})

test('a request that fills the prompt cache alone is for backends of this dialect, and chat refuses it', async () => {
  const usage = { input_tokens: 3, cache_creation_input_tokens: 5_000, cache_read_input_tokens: 0, output_tokens: 0 }
  const filled = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'max_tokens' }
  const own: Reply = (response) => sendJson(response, 200, { ...filled, stop_sequence: null, usage })
  const both = await routerOver('messages', [
    ['chat', goodChat],
    ['messages', own],
  ])
  const job = await both.sendRequest(false, { max_tokens: 0 })
  expect(JSON.parse(job.text())).toMatchObject({ content: [], usage })
  expect(job.end?.usage).toMatchObject({ promptTokens: 5_003, completionTokens: 0, cacheWriteTokens: 5_000 })
  expect(both.opened[0]!.seen).toHaveLength(0)

  const { opened, sendRequest } = await routerOver('messages', [['chat', goodChat]])
  const { failure } = await sendRequest(false, { max_tokens: 0 })
  expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
  expect(failure!.backendBody).toContain('max_tokens must be 1 or more')
  expect(opened[0]!.seen).toHaveLength(0)
})

test.each(['chat', 'messages'] as const)(
  'a parameter that a backend of the dialect %s refuses is learnt and left out',
  async (dialect) => {
    const { opened, sendRequest } = await routerOver('messages', [
      [
        dialect,
        (response, request, socket) => {
          if (!('top_k' in request.body)) return good(dialect)(response, request, socket)
          const message =
            dialect === 'chat'
              ? 'Unrecognized request argument supplied: top_k'
              : '`top_k` is deprecated for this model.'
          return sendJson(response, 400, { error: { type: 'invalid_request_error', message } })
        },
      ],
    ])
    for (const attempts of [2, 1]) {
      const job = await sendRequest(false, { top_k: 5 })
      expect(job.end?.attempts).toHaveLength(attempts)
      expect(job.head!.droppedParams).toEqual(['top_k'])
    }
    expect(opened[0]!.seen).toHaveLength(3)
  },
)

test('a target that knows no effort gets none, and the client is informed', async () => {
  const refuses: Reply = (response, request, socket) => {
    if (!('reasoning_effort' in request.body)) return goodChat(response, request, socket)
    const message = 'Unrecognized request argument supplied: reasoning_effort'
    return sendJson(response, 400, { error: { type: 'invalid_request_error', message } })
  }
  const { opened, sendRequest } = await routerOver('messages', [['chat', refuses]])
  for (const attempts of [2, 1]) {
    const job = await sendRequest(false, { thinking: { type: 'enabled', budget_tokens: 8_000 } })
    expect(job.end?.attempts).toHaveLength(attempts)
    expect(job.head!.droppedParams).toEqual(['thinking'])
  }
  expect(opened[0]!.seen.map(({ body }) => body['reasoning_effort'])).toEqual(['medium', undefined, undefined])
})

test('pings that a backend sends while its model thinks reach the client, since it waits for bytes', async () => {
  const { complete } = TARGETS.messages.written
  const ping = 'event: ping\ndata: {"type": "ping"}\n\n'
  const end = complete.indexOf('event: content_block_stop')
  const { sendRequest } = await routerOver('messages', [
    [
      'messages',
      (response) => {
        openStream(response)
        response.end(complete.slice(0, end) + ping + ': alive\n\n' + ping + complete.slice(end))
      },
    ],
  ])
  const job = await sendRequest(true)
  expect(job.text().split(ping)).toHaveLength(3)
  expect(job.text().replaceAll(ping, '').replaceAll(': alive\n\n', '')).toBe(complete)
})
