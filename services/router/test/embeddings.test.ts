/**
 * Embeddings in the forms that clients send: tokens, and vectors of other lengths than the contract's.
 */

import type { JobHeader } from '@gateway/contracts/job'
import { expect, test } from 'vitest'
import { sendJson, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const EMBED: Partial<JobHeader> = { kind: 'embeddings', needs: ['embeddings'] }

const vectors =
  (length: number): Reply =>
  (response, { body }) => {
    const inputs = Array.isArray(body['input']) ? body['input'] : [body['input']]
    const data = inputs.map((_, index) => ({ object: 'embedding', index, embedding: Array<number>(length).fill(0.5) }))
    sendJson(response, 200, { object: 'list', model: 'm', data, usage: { prompt_tokens: 3, total_tokens: 3 } })
  }

async function open(length: number, model = 'bge') {
  const a = await backend(vectors(length))
  return { a, under: await router(poolOver([a.url], { targets: [{ model }] })) }
}

test.each([
  ['of one text', [9_906, 11, 1_917], ['Hello, world']],
  ['of several texts', [[9_906], [9_906, 11, 1_917]], ['Hello', 'Hello, world']],
])('the tokens %s reach a server as texts, which each tokenizer reads', async (_, input, texts) => {
  const { a, under } = await open(768)
  const { failure, text } = await under.sendRequest(EMBED, { input })
  expect(failure).toBeNull()
  expect(a.seen[0]!.body).toEqual({ model: 'bge', input: texts })
  expect((JSON.parse(text()) as { data: object[] }).data).toHaveLength(texts.length)
})

test.each<[string, string, Partial<JobHeader>, number | undefined]>([
  ['a model of one length gets no dimensions', 'bge', { dimensions: 1_024 }, undefined],
  ['a model of many lengths gets those of the contract', 'text-embedding-3-small', { dimensions: 768 }, 768],
  ['one that the client shortens gets those of the client', 'bge', { dimensions: 256, isShortened: true }, 256],
])('%s', async (_, model, header, requested) => {
  const { a, under } = await open(header.dimensions!, model)
  const { failure } = await under.sendRequest({ ...EMBED, ...header }, { input: 'x', dimensions: header.dimensions })
  expect(failure).toBeNull()
  expect(a.seen[0]!.body['dimensions']).toBe(requested)
})

test("vectors of another length than the model's are the backend's fault", async () => {
  const { under } = await open(1_024)
  const { failure } = await under.sendRequest({ ...EMBED, dimensions: 1_536 }, { input: 'x' })
  expect(failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED' })
  expect(failure!.attempts[0]).toMatchObject({ outcome: 'invalid_answer' })
})

test.each<[usage: object, promptTokens: number]>([
  [{ prompt_tokens: 9, total_tokens: 9 }, 9],
  [{ prompt_tokens: 0, total_tokens: 9 }, 9],
  [{ prompt_tokens: 5, total_tokens: 9 }, 9],
])('all tokens that an embedding reports as %j are those of its prompt', async (usage, promptTokens) => {
  const a = await backend((response) => {
    const data = [{ object: 'embedding', index: 0, embedding: Array<number>(768).fill(0.5) }]
    sendJson(response, 200, { object: 'list', model: 'm', data, usage })
  })
  const { end } = await (await router(poolOver([a.url]))).sendRequest(EMBED, { input: 'Hello' })
  expect(end?.usage).toMatchObject({ promptTokens, completionTokens: 0, estimated: false })
})
