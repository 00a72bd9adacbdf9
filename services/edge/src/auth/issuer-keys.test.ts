import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLogger } from '@gateway/telemetry/logger'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { followIssuerKeys, IssuerUnavailableError, STALE_KEYS_MS } from './issuer-keys.ts'

const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const MINUTE_MS = 60_000

let issuer: Awaited<ReturnType<typeof openIssuer>>
let find: (kid: string) => Promise<unknown>
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  issuer = await openIssuer()
  const findKey = followIssuerKeys(issuer.url, createLogger({ service: 'test', level: 'silent' }))
  find = async (kid) => findKey({ alg: 'ES256', kid }, { payload: '', signature: '' })
})
afterEach(() => {
  vi.useRealTimers()
  return issuer[Symbol.asyncDispose]()
})

const later = (ms: number) => vi.setSystemTime(Date.now() + ms)

/** Serves keys of these ids, counts the fetches, and can be away or hang. */
async function openIssuer() {
  const state = {
    kids: ['one'],
    requests: 0,
    mood: 'well' as 'well' | 'away' | 'hangs',
    hanging: [] as ServerResponse[],
  }
  const server = createServer((request, response) => {
    if (request.url !== '/jwks') {
      state.requests++
      if (state.mood === 'hangs') return void state.hanging.push(response)
      response.statusCode = state.mood === 'away' ? 503 : 200
      return response.end(JSON.stringify({ issuer: url, jwks_uri: `${url}/jwks` }))
    }
    response.end(JSON.stringify({ keys: state.kids.map((kid) => ({ ...jwk, kid })) }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(state, {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  })
}

test('a rotation is seen with the first token of the new key, once the cool-down is over', async () => {
  await find('one')
  issuer.kids = ['two']
  await expect(find('two')).rejects.toThrow('no applicable key')
  later(10_001)
  await find('two')
  await expect(find('one')).rejects.toThrow('no applicable key')
  expect(issuer.requests).toBe(2)
})

test('keys are fetched again after ten minutes, and no token waits for it', async () => {
  await find('one')
  later(11 * MINUTE_MS)
  issuer.mood = 'hangs'
  await Promise.all([find('one'), find('one'), find('one')])
  await expect.poll(() => issuer.requests).toBe(2)
})

test('keys outlive an outage of the issuer by a day, then tokens fail as unavailable, and work again when it is back', async () => {
  await find('one')
  issuer.mood = 'away'
  later(STALE_KEYS_MS - MINUTE_MS)
  await find('one')
  later(2 * MINUTE_MS)
  await expect(find('one')).rejects.toThrow(IssuerUnavailableError)
  issuer.mood = 'well'
  later(10_001)
  await find('one')
})

test.each(['one', 'forged'])('while the issuer is away, tokens of key %s call it once per cool-down', async (kid) => {
  await find('one')
  issuer.mood = 'away'
  later(11 * MINUTE_MS)
  const before = issuer.requests
  for (let round = 0; round < 3; round++) {
    await Promise.allSettled(Array.from({ length: 20 }, () => find(kid)))
    await expect.poll(() => issuer.requests - before).toBe(round + 1)
    await Promise.allSettled([find(kid)])
    later(10_001)
  }
  expect(issuer.requests - before).toBe(3)
})

test('the edge calls an issuer that never responded once per cool-down', async () => {
  issuer.mood = 'away'
  for (let times = 0; times < 5; times++) await expect(find('one')).rejects.toThrow(IssuerUnavailableError)
  expect(issuer.requests).toBe(1)
  issuer.mood = 'well'
  later(10_001)
  await find('one')
})
