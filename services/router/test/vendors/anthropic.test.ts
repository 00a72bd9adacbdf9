/**
 * Claude Opus 4.7 and later refuse the parameters of sampling (rocketride-org/rocketride-server#1194, 2026-06-09).
 */

import { expect, test } from 'vitest'
import { sendJson } from '../http-backend.ts'
import { backend, router } from '../open.ts'
import { poolOver } from '../router-under-test.ts'
import { STAND_INS } from './stand-ins.ts'

test('a model that refuses sampling parameters serves: the router learns the refusal, and reports the dropped ones to the client', async () => {
  const a = await backend((response, request, socket) => {
    const name = ['temperature', 'top_p'].find((parameter) => parameter in request.body)
    if (name === undefined) return STAND_INS.anthropic.reply(response, request, socket)
    const error = { type: 'invalid_request_error', message: `\`${name}\` is deprecated for this model.` }
    return sendJson(response, 400, { type: 'error', error })
  })
  const under = await router(poolOver([a.url], { backend: { vendor: 'anthropic', timeouts: {} } }))
  const sendRequest = () =>
    under.sendRequest({}, { messages: [{ role: 'user', content: 'Hi' }], temperature: 0, top_p: 0.5 })
  const attempts: number[] = []
  for (const job of [await sendRequest(), await sendRequest()]) {
    expect(job.failure).toBeNull()
    expect(job.head!.droppedParams).toEqual(['temperature', 'top_p'])
    attempts.push(job.end!.attempts.length)
  }
  expect(attempts).toEqual([3, 1])
})

test('a parameter that a client has invented is reported in letters that a header can hold', async () => {
  const a = await backend(STAND_INS.anthropic.reply)
  const under = await router(poolOver([a.url], { backend: { vendor: 'anthropic', timeouts: {} } }))
  const { failure, head } = await under.sendRequest({}, { messages: [{ role: 'user', content: 'Hi' }], 'ключ\r\n': 1 })
  expect(failure).toBeNull()
  expect(head!.droppedParams).toEqual(['%D0%BA%D0%BB%D1%8E%D1%87%0D%0A'])
})

test('a response that breaks off is billed for its prompt with its reads and writes of the cache', async () => {
  const written = { cache_creation_input_tokens: 40, cache_creation: { ephemeral_1h_input_tokens: 30 } }
  const usage = { input_tokens: 5, cache_read_input_tokens: 90, ...written, output_tokens: 1 }
  const events = [
    { type: 'message_start', message: { id: 'm', model: 'claude', usage } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  ]
  const a = await backend((response, _, socket) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''), () => socket.destroy())
  })
  const under = await router(poolOver([a.url], { backend: { vendor: 'anthropic', timeouts: {} } }))
  const { failure } = await under.sendRequest({ stream: true }, { messages: [{ role: 'user', content: 'Hi' }] })
  const cache = { cachedTokens: 90, cacheWriteTokens: 40, cacheWriteHourTokens: 30 }
  expect(failure!.usage).toMatchObject({ promptTokens: 135, ...cache, estimated: true })
})
