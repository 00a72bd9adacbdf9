/**
 * Clients of every dialect in front of a backend that speaks the Responses API alone.
 */

import { expect, test } from 'vitest'
import { broken, good, routerOver } from './dialect-backends.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { TARGETS } from './target-fixtures.ts'

const SAY = { messages: [{ role: 'user', content: 'Say hello' }] }

async function chatOver(reply: Parameters<typeof backend>[0]) {
  const opened = await backend(reply)
  const running = await router(poolOver([opened.url], { backend: { dialects: ['responses'] } }))
  return {
    opened,
    sendRequest: (stream: boolean, body: object = SAY) => running.sendRequest({ stream, includeUsage: stream }, body),
  }
}

test('a client of chat gets a chat completion, and the backend’s own count of tokens is metered', async () => {
  const { opened, sendRequest } = await chatOver(good('responses'))
  const job = await sendRequest(false)
  expect(JSON.parse(job.text())).toMatchObject({
    object: 'chat.completion',
    model: 'backend-model',
    choices: [{ message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  })
  expect(job.end?.usage).toMatchObject({ promptTokens: 9, completionTokens: 3, estimated: false })
  const { path, body } = opened.seen[0]!
  expect([path, body]).toMatchObject(['/v1/responses', { model: 'model-a', store: false }])
})

test('a client of chat gets a stream of chunks with one end and its usage', async () => {
  const { sendRequest } = await chatOver(good('responses'))
  const job = await sendRequest(true)
  const chunks = job
    .text()
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => JSON.parse(block.slice('data: '.length)) as { choices: { delta: object; finish_reason: string }[] })
  expect(chunks.map(({ choices }) => choices[0]?.delta ?? 'usage')).toEqual([
    { role: 'assistant', content: '' },
    { content: 'Hello' },
    { content: ' there' },
    {},
    'usage',
  ])
  expect(chunks.at(-1)).toMatchObject({ usage: { prompt_tokens: 9, completion_tokens: 3 } })
  expect(job.end?.usage).toMatchObject({ completionTokens: 3, estimated: false })
})

test('a client of chat sees nothing of a backend that breaks off before content', async () => {
  const { opened, sendRequest } = await chatOver(broken('responses', 'role'))
  const { failure } = await sendRequest(true)
  expect(failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED' })
  expect(opened.seen.length).toBeGreaterThan(0)
})

test('a client of chat reads the name of a parameter that the backend has no word for', async () => {
  const { sendRequest } = await chatOver(good('responses'))
  const job = await sendRequest(false, { ...SAY, seed: 7 })
  expect(job.head!.droppedParams).toEqual(['seed'])
})

test('a client of the Messages API gets a message', async () => {
  const { opened, sendRequest } = await routerOver('messages', [['responses', good('responses')]])
  const job = await sendRequest(false)
  expect(JSON.parse(job.text())).toMatchObject({
    type: 'message',
    content: [{ type: 'text', text: 'Hello there' }],
    stop_reason: 'end_turn',
  })
  expect(opened[0]!.seen[0]!.path).toBe('/v1/responses')
})

test('a client of the Responses API gets the backend’s own bytes', async () => {
  const { sendRequest } = await routerOver('responses', [['responses', good('responses')]])
  expect((await sendRequest(true)).text()).toBe(TARGETS.responses.written.complete)
})
