/**
 * Requests that no backend survives. Their sender harms nobody else: the router attributes the failure to the request
 * before the backend. A backend that is really dead is out as soon as ever.
 */

import { describe, expect, test } from 'vitest'
import type { FakeJob } from './fake-job.ts'
import { openStream, ROLE, sendJson, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver, type RouterUnderTest } from './router-under-test.ts'
import { requestOf, type RequestKind } from './well-behaved.ts'

const REQUEST_KINDS: RequestKind[] = ['plain', 'stream', 'embeddings', 'images']

const FAILURES: [string, Reply][] = [
  ['status 500', (response) => sendJson(response, 500, { error: { message: 'Internal Server Error' } })],
  ['status 502', (response) => sendJson(response, 502, {})],
  ['broken JSON', (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"cho')],
  ['a dropped connection', (_, __, socket) => socket.destroy()],
  [
    'a connection that is dropped after its headers',
    (response, _, socket) => {
      openStream(response)
      response.write(ROLE, () => setTimeout(() => socket.destroy(), 5))
    },
  ],
]

function bodyOf(requestKind: RequestKind, text: string): object {
  if (requestKind === 'embeddings') return { input: text }
  return requestKind === 'images' ? { prompt: text } : { messages: [{ role: 'user', content: text }] }
}

/** Serves all requests but those that speak of poison. */
const survives = (requestKind: RequestKind, failure: Reply): Reply => {
  return (response, request, socket) =>
    request.text.includes('poison')
      ? failure(response, request, socket)
      : requestOf(requestKind).good(response, request)
}

/** Two equal targets and an expensive reserve. */
async function open(requestKind: RequestKind, reply: Reply, reserve: Reply = reply) {
  const [a, b, c] = [await backend(reply), await backend(reply), await backend(reserve)]
  const targets = [{ priority: 1 }, { priority: 1 }, { priority: 2 }]
  const under = await router(poolOver([a.url, b.url, c.url], { targets }))
  const sendRequest = (account: string, text: string) =>
    under.sendRequest({ ...requestOf(requestKind).header, account }, bodyOf(requestKind, text))
  return { a, b, c, sendRequest }
}

const backendOf = (job: FakeJob) => job.head?.backend ?? job.failure?.code

describe.each(REQUEST_KINDS)('a request that no target survives (%s)', (requestKind) => {
  test.for(FAILURES)('%s: repeats of it cost nobody a target, its sender neither', async ([, failure]) => {
    const { sendRequest } = await open(requestKind, survives(requestKind, failure))
    for (let i = 0; i < 4; i++) expect(backendOf(await sendRequest('mallory', 'poison'))).toBe('UPSTREAMS_EXHAUSTED')
    for (const account of ['alice', 'mallory', 'bob', 'alice', 'mallory']) {
      expect(backendOf(await sendRequest(account, 'good'))).toMatch(/^[ab]$/)
    }
  })

  test.for(FAILURES)('%s: where the reserve survives it, others need no reserve', async ([, failure]) => {
    const { sendRequest } = await open(requestKind, survives(requestKind, failure), (response, request) =>
      requestOf(requestKind).good(response, request),
    )
    for (let i = 0; i < 4; i++) expect(backendOf(await sendRequest('mallory', 'poison'))).toBe('c')
    for (let i = 0; i < 5; i++) expect(backendOf(await sendRequest('alice', 'good'))).toMatch(/^[ab]$/)
  })

  test.for(FAILURES)(
    '%s: others keep their targets, however many different ones a client sends',
    async ([, failure]) => {
      const { sendRequest } = await open(requestKind, survives(requestKind, failure), (response, request) =>
        requestOf(requestKind).good(response, request),
      )
      for (let i = 0; i < 8; i++) await sendRequest('mallory', `poison ${i}`)
      for (let i = 0; i < 5; i++) expect(backendOf(await sendRequest('alice', 'good'))).toMatch(/^[ab]$/)
    },
  )

  test('sent by many accounts is one request, too', async () => {
    const { sendRequest } = await open(requestKind, survives(requestKind, FAILURES[0]![1]), (response, request) =>
      requestOf(requestKind).good(response, request),
    )
    for (let i = 0; i < 8; i++) await sendRequest(`account ${i}`, 'poison')
    for (let i = 0; i < 5; i++) expect(backendOf(await sendRequest('alice', 'good'))).toMatch(/^[ab]$/)
  })
})

describe('a backend that fails at every request', () => {
  const dead = async (failure: Reply) => {
    const [a, b] = [
      await backend(failure),
      await backend((response, request) => requestOf('plain').good(response, request)),
    ]
    return { a, under: await router(poolOver([a.url, b.url])) }
  }
  const sendRequest = async (under: RouterUnderTest, account: string, text: string) => {
    expect(backendOf(await under.sendRequest({ account }, bodyOf('plain', text)))).toBe('b')
  }

  test.for(FAILURES)('%s: is out after three requests of the only client that there is', async ([, failure]) => {
    const { a, under } = await dead(failure)
    for (let i = 0; i < 6; i++) await sendRequest(under, 'alone', `request ${i}`)
    expect(a.seen).toHaveLength(3)
  })

  test.for(FAILURES)('%s: is out for all after three requests of several clients', async ([, failure]) => {
    const { a, under } = await dead(failure)
    for (let i = 0; i < 6; i++) await sendRequest(under, `account ${i}`, 'the same of all')
    expect(a.seen).toHaveLength(3)
  })

  test('that one client has met is out for all with the first request of another, at the latest', async () => {
    const { a, under } = await dead(FAILURES[0]![1])
    for (let i = 0; i < 6; i++) await sendRequest(under, 'alice', `request ${i}`)
    for (let i = 0; i < 3; i++)
      for (const account of ['bob', 'carol']) await sendRequest(under, account, `request ${i}`)
    expect(a.seen.length).toBeLessThanOrEqual(4)
  })

  test('is not called for ever by a client that sends the same request again and again', async () => {
    const { a, under } = await dead(FAILURES[0]![1])
    for (let i = 0; i < 8; i++) await sendRequest(under, 'alone', 'the same')
    expect(a.seen).toHaveLength(3)
  })
})

describe('a backend that refuses a request by a status that only a request can cause', () => {
  test.each([406, 424, 431])('%d is the request’s own fault', async (status) => {
    const { a, b, c, sendRequest } = await open('plain', (response) =>
      sendJson(response, status, { error: { message: 'no' } }),
    )
    for (let i = 0; i < 5; i++) {
      const { failure } = await sendRequest('mallory', `poison ${i}`)
      expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: status })
    }
    expect(a.seen.length + b.seen.length + c.seen.length).toBe(5)
  })
})
