import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { bareProxy } from './bare-proxy.ts'
import { parsePeer, peerSubject, requireNames } from './peer.ts'

const BACKEND_PORT = 18_181
const never = new AbortController().signal
const KEY = 'authorization: Bearer sk-1=='

test('a peer is its name, its address, and a header that goes with each request', () => {
  expect(parsePeer(`new-api=http://127.0.0.1:3000/v1,${KEY}`)).toEqual({
    name: 'new-api',
    endpoint: {
      ports: [3_000],
      path: '/v1/chat/completions',
      model: 'bench',
      headers: { authorization: 'Bearer sk-1==' },
    },
    pids: [],
  })
})

test('further headers, its own name of the model and its processes follow in any order', () => {
  const parts = ['pid=17', 'X-Tenant: a', 'model=openai/bench', 'pid=18', 'x-bf-vk: sk-bf-1']
  const { endpoint, pids } = parsePeer(`My Bifrost 1.4=http://localhost:8081/openai/v1/, ${parts.join(', ')}`)
  expect(endpoint).toEqual({
    ports: [8_081],
    path: '/openai/v1/chat/completions',
    model: 'openai/bench',
    headers: { 'x-tenant': 'a', 'x-bf-vk': 'sk-bf-1' },
  })
  expect(pids).toEqual([17, 18])
})

test('an address without a path is that of the API’s first version', () => {
  expect(parsePeer('peer=http://127.0.0.1:3000').endpoint.path).toBe('/v1/chat/completions')
})

test.each([
  ['', 'does not begin with a name'],
  ['http://127.0.0.1:3000/v1', 'does not begin with a name'],
  ['a|b=http://127.0.0.1:3000', 'does not begin with a name'],
  ['peer=127.0.0.1:3000', 'is no address http://127.0.0.1:<port> of this machine'],
  ['peer=https://127.0.0.1:3000/v1', 'is no address http://127.0.0.1:<port> of this machine'],
  ['peer=http://api.example.com/v1', 'is no address http://127.0.0.1:<port> of this machine'],
  ['peer=http://127.0.0.1:3000,Bearer sk-secret', 'part 1 behind the address'],
  [`peer=http://127.0.0.1:3000,${KEY},pid=sk-secret`, 'part 2 behind the address'],
])('the option %j is refused with its form, and never repeats a key', (option, problem) => {
  const refusal = refusalOf(() => parsePeer(option))
  expect(refusal).toContain(problem)
  expect(refusal).toContain('write --peer "name=http://127.0.0.1:8081/v1,authorization: Bearer …"')
  expect(refusal).not.toContain('sk-')
})

test('no two rows of a table have one name', () => {
  const peer = parsePeer('bare Node proxy=http://127.0.0.1:3000')
  expect(refusalOf(() => requireNames([peer], [bareProxy]))).toContain('choose another')
  expect(refusalOf(() => requireNames([peer, peer], []))).toContain('choose another')
  requireNames([peer], [])
})

test('a peer in front of the backend is measured as it is, with the CPU of the processes that were named', async () => {
  await using server = await serve((_request, response) => response.end('… the quick brown fox jumps …'))
  const { description, launch } = await peerSubject(parsePeer(`peer=${server.url},pid=${process.pid}`)).prepare(never)
  await using launched = await launch(BACKEND_PORT, never)
  expect(Object.values(launched.processes())).toEqual([process.pid])
  expect(description).toContain(`CPU of ${Object.keys(launched.processes())[0]}`)
})

test('a peer that just missed its backend is waited for', async () => {
  let requests = 0
  await using server = await serve(({ method }, response) => {
    if (method === 'POST' && ++requests < 3) response.statusCode = 503
    response.end('the quick brown fox')
  })
  const { description, launch } = await peerSubject(parsePeer(`peer=${server.url}`)).prepare(never)
  await using launched = await launch(BACKEND_PORT, never)
  expect(launched.processes()).toEqual({})
  expect(description).toContain('CPU is unknown')
})

test.each([
  [401, 'invalid token', 'peer replied 401: invalid token. Name its key as a header in --peer'],
  [200, 'I am another model', "did not reply from the bench's backend"],
])('the refusal of a peer that replies %i “%s” names the remedy', async (status, text, remedy) => {
  await using server = await serve((_request, response) => {
    response.statusCode = status
    response.end(text)
  })
  const { launch } = await peerSubject(parsePeer(`peer=${server.url}`)).prepare(never)
  await expect(launch(BACKEND_PORT, never)).rejects.toThrow(remedy)
  await expect(launch(BACKEND_PORT, never)).rejects.toThrow(
    `lead to the model bench at http://127.0.0.1:${BACKEND_PORT}/v1`,
  )
})

test('a peer that is not there, and a process that is not there, are known before anything is measured', async () => {
  const server = await serve((_request, response) => response.end())
  const dead = peerSubject(parsePeer(`peer=${server.url},pid=4194305`))
  await expect(dead.prepare(never)).rejects.toThrow('no process has pid=4194305')
  await server[Symbol.asyncDispose]()
  await expect(dead.prepare(never)).rejects.toThrow('start peer, or correct --peer')
})

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
