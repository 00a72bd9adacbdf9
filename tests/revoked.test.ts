/**
 * Promise 3 on a cluster: revoked means revoked, on every edge, from the moment of the 200.
 *
 * `REVOCATIONS=200 npm test -- tests/revoked.test.ts` is the long run; the figures that it prints stand in
 * `docs/decisions/keys-and-guests.md`.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { signIn } from '@gateway/stand-ins/sign-in'

const ROUNDS = Number(process.env['REVOCATIONS'] ?? 6)
const REQUESTS_AFTER = 10
const TIMEOUT_MS = 30_000 + ROUNDS * 10_000

const PLANS = [
  { slug: 'guest-device', limit: 1_000_000, rpm: 1_000, tpm: 1_000_000, perDay: 1_000, guest: true },
  { slug: 'free', limit: 1_000_000_000, rpm: 1_000_000, tpm: 1_000_000_000, default: true },
]

let cluster: Cluster
let folder: string
let owners = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-revoked-'))
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, JSON.stringify({ plans: PLANS }))
  const environment = { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn' }
  cluster = await startCluster({ edges: 2, routers: 2, dataDir: folder, ownServers: true, environment })
  await control('faults', { stream: true, paceMs: 50 })
})

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  if (folder) await rm(folder, { recursive: true, force: true })
})

describe('revoked means revoked', () => {
  test(
    'no edge admits a key after its revoke was confirmed, while both are busy with it; its open streams are cut',
    async () => {
      const cutAfterMs: number[] = []
      let admittedAfter = 0
      for (let round = 0; round < ROUNDS; round++) {
        const { token, key } = await newKey()
        const streams = await Promise.all(cluster.edges.map((edge) => openStream(edge, key)))
        await using _load = keepRequesting(key)
        expect((await manage(token, 'revoke', { key })).status).toBe(200)
        const revokedAtMs = performance.now()
        admittedAfter += await countAdmitted(key)
        for (const stream of streams) {
          const { text, endedAtMs } = await stream.ended
          cutAfterMs.push(endedAtMs - revokedAtMs)
          expect(text).not.toContain('[DONE]')
          expect(text).toContain('INVALID_KEY')
        }
      }
      cutAfterMs.sort((a, b) => a - b)
      const p99 = cutAfterMs[Math.ceil(cutAfterMs.length * 0.99) - 1]
      console.log(
        `revoked ${ROUNDS} times: ${admittedAfter} admitted after; streams cut p99 ${Math.round(p99 ?? 0)} ms`,
      )
      expect(admittedAfter).toBe(0)
      expect(p99).toBeLessThan(5_000)
    },
    TIMEOUT_MS,
  )

  test(
    'a rotated key admits nothing more, its open streams finish, and the new key has its standing',
    async () => {
      let admittedAfter = 0
      for (let round = 0; round < Math.ceil(ROUNDS / 2); round++) {
        const { token, key } = await newKey()
        const stream = await openStream(cluster.edges[0]!, key, 20)
        const rotated = await manage(token, 'rotate', { key })
        expect(rotated).toMatchObject({ status: 200, body: { rotated: true, plan: 'free' } })
        admittedAfter += await countAdmitted(key)
        const newKeyStatuses = await Promise.all(
          cluster.edges.map((edge) => sendRequest(edge, String(rotated.body['key']))),
        )
        expect(newKeyStatuses).toEqual(cluster.edges.map(() => 200))
        expect((await stream.ended).text).toContain('[DONE]')
      }
      expect(admittedAfter).toBe(0)
    },
    TIMEOUT_MS,
  )

  test('of 50 rotates at once exactly one wins, and exactly one key is alive', async () => {
    const { token, key } = await newKey()
    const replies = await Promise.all(Array.from({ length: 50 }, () => manage(token, 'rotate', { key })))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(49)
    const { body } = await manage(token, 'list')
    const keys = body['data'] as { status: string }[]
    expect(keys.map(({ status }) => status).sort()).toEqual(['active', 'deactivated'])
  })

  test('a sign-in token works on the inference endpoints through the active key, and no longer when that is revoked', async () => {
    const { token, key } = await newKey()
    expect(await sendRequest(cluster.edges[1]!, token)).toBe(200)
    await manage(token, 'revoke', { key })
    expect(await sendRequest(cluster.edges[1]!, token)).toBe(401)
  })

  test("nobody rotates or revokes another owner's key", async () => {
    const mine = await newKey()
    const theirs = await newKey()
    expect(await manage(theirs.token, 'revoke', { key: mine.key })).toMatchObject({
      status: 401,
      body: { code: 'INVALID_KEY' },
    })
    expect(await manage(theirs.token, 'rotate', { key: mine.key })).toMatchObject({
      status: 401,
      body: { code: 'INVALID_KEY' },
    })
    expect(await sendRequest(cluster.edges[0]!, mine.key)).toBe(200)
  })
})

async function newKey(): Promise<{ token: string; key: string }> {
  const redirectUri = `${cluster.edges[0]}/console`
  const token = await signIn(cluster.issuer, { name: `owner-${++owners}`, redirectUri })
  const { status, body } = await manage(token, 'mint')
  expect({ status, body }).toMatchObject({ status: 200 })
  return { token, key: String(body['key']) }
}

/** Alternates between the edges, so that each must know of the other's changes. */
async function manage(token: string, action: 'mint' | 'rotate' | 'revoke' | 'list', body: object = {}) {
  const edge = cluster.edges[owners % cluster.edges.length]
  const path = action === 'mint' || action === 'list' ? '' : `/${action}`
  const response = await fetch(`${edge}/v1/keys/developer${path}`, {
    method: action === 'list' ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(action === 'list' ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

function chat(edge: string, credential: string, fields: object): Promise<Response> {
  return fetch(`${edge}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-instant', messages: [{ role: 'user', content: 'Hello!' }], ...fields }),
  })
}

async function sendRequest(edge: string, credential: string): Promise<number> {
  const response = await chat(edge, credential, {})
  await response.arrayBuffer()
  return response.status
}

async function countAdmitted(key: string): Promise<number> {
  const requested = Array.from({ length: REQUESTS_AFTER }, () =>
    cluster.edges.map((edge) => sendRequest(edge, key)),
  ).flat()
  return (await Promise.all(requested)).filter((status) => status !== 401).length
}

/** A stream whose first content has come. Without `maxTokens` it lasts for 30 s, longer than any key here lives. */
async function openStream(edge: string, key: string, maxTokens?: number) {
  const messages = [{ role: 'user', content: '600 words' }]
  const response = await chat(edge, key, { stream: true, max_tokens: maxTokens, messages })
  expect(response.status).toBe(200)
  const reader = response.body!.getReader()
  const first = await reader.read()
  async function readToEnd() {
    const decoder = new TextDecoder()
    let text = decoder.decode(first.value, { stream: true })
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      text += decoder.decode(piece.value, { stream: true })
    return { text, endedAtMs: performance.now() }
  }
  return { ended: readToEnd() }
}

/** Sends requests to both edges without a break until disposed of. */
function keepRequesting(key: string): AsyncDisposable {
  const over = new AbortController()
  const loops = cluster.edges.map(async (edge) => {
    while (!over.signal.aborted) await sendRequest(edge, key)
  })
  return {
    async [Symbol.asyncDispose]() {
      over.abort()
      await Promise.all(loops)
    },
  }
}

async function control(path: string, body: object): Promise<void> {
  const response = await fetch(new URL(`/_control/${path}`, cluster.backendUrl), {
    method: 'POST',
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
}
