/**
 * Four busy edges while a key is deleted and a project is archived. No edge admits a request that begins after the 200, and open
 * streams are cut.
 *
 * `ROUNDS=20 npm test -- tests/administration/revoked.test.ts` is the long run.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Agent, request } from 'undici'
import { type AdministeredCluster, openAdministered } from './administered.ts'

const ROUNDS = Number(process.env['ROUNDS'] ?? 3)
const KEYS = 500
const CONNECTIONS_TO_AN_EDGE = 8
const BUSY_MS = 1_000

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
beforeAll(async () => {
  administered = await openAdministered(stack, { edges: 4 })
  const { steadyA, steadyB } = administered.gateway.backends
  for (const backend of [steadyA, steadyB]) backend.fail({ stream: true, paceMs: 50 })
})
afterAll(() => stack.disposeAsync())

const projects = () => administered.admin.admin.organization.projects

interface Sent {
  startedAtMs: number
  endedAtMs: number
  status: number
}

/** Sends requests to all edges without a pause, with each key in turn. */
function keepRequesting(keys: readonly string[]) {
  const agent = new Agent({ connections: CONNECTIONS_TO_AN_EDGE })
  const sent: Sent[] = []
  const over = new AbortController()
  let turn = 0
  const loop = async (edge: string) => {
    while (!over.signal.aborted) {
      const startedAtMs = performance.now()
      const response = await request(`${edge}/v1/chat/completions`, {
        dispatcher: agent,
        method: 'POST',
        headers: { authorization: `Bearer ${keys[turn++ % keys.length]}`, 'content-type': 'application/json' },
        body: '{"model":"svc-instant","max_tokens":5,"messages":[{"role":"user","content":"Say: hello"}]}',
      })
      await response.body.dump()
      sent.push({ startedAtMs, endedAtMs: performance.now(), status: response.statusCode })
    }
  }
  const loops = administered.gateway.urls.flatMap((url) =>
    Array.from({ length: CONNECTIONS_TO_AN_EDGE }, () => loop(url)),
  )
  return {
    sent,
    async [Symbol.asyncDispose]() {
      over.abort()
      await Promise.allSettled(loops)
      await agent.close()
    },
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Ends keys under load. Returns the requests that were admitted after the call returned, and the rate before it. */
async function endUnderLoad(keys: readonly string[], end: () => Promise<unknown>) {
  const streams = await Promise.all(administered.gateway.urls.map((url) => openStream(url, keys[0]!)))
  await using load = keepRequesting(keys)
  await pause(BUSY_MS)
  const beginsAtMs = performance.now()
  await end()
  const endedAtMs = performance.now()
  const cutAtMs = await Promise.all(streams.map(({ ended }) => ended))
  await pause(BUSY_MS)
  const before = load.sent.filter((request) => request.endedAtMs < beginsAtMs)
  const after = load.sent.filter(({ startedAtMs }) => startedAtMs > endedAtMs)
  expect(before.filter(({ status }) => status !== 200)).toEqual([])
  expect(after.length).toBeGreaterThan(0)
  return {
    rate: Math.round((before.length * 1_000) / BUSY_MS),
    tookMs: Math.round(endedAtMs - beginsAtMs),
    refused: after.filter(({ status }) => status === 401).length,
    others: after.filter(({ status }) => status !== 401),
    cutMs: Math.round(Math.max(...cutAtMs) - endedAtMs),
  }
}

/** A stream of 30 s, whose first content has come. */
async function openStream(edge: string, key: string): Promise<{ ended: Promise<number> }> {
  const response = await fetch(`${edge}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-core', stream: true, messages: [{ role: 'user', content: '600 words' }] }),
  })
  expect(response.status).toBe(200)
  const reader = response.body!.getReader()
  await reader.read()
  const readToEnd = async () => {
    let text = ''
    const decoder = new TextDecoder()
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text = decoder.decode(piece.value)
    expect(text).toContain('INVALID_KEY')
    return performance.now()
  }
  return { ended: readToEnd() }
}

async function newProject(): Promise<{ id: string; account: string }> {
  const { id } = await projects().create({ name: 'Busy' })
  const account = await projects().serviceAccounts.create(id, { name: 'busy', create_service_account_only: true })
  return { id, account: account.id }
}

const newKey = ({ id, account }: { id: string; account: string }) =>
  projects().serviceAccounts.apiKeys.create(account, { project_id: id })

test(
  'a key that is deleted under load admits nothing afterwards on any of four edges, and its streams are cut',
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const project = await newProject()
      const key = await newKey(project)
      const outcome = await endUnderLoad([key.value], () =>
        projects().apiKeys.delete(key.id, { project_id: project.id }),
      )
      console.log(`a key: ${outcome.rate} requests a second; ${JSON.stringify(outcome)}`)
      expect(outcome.others).toEqual([])
    }
  },
  60_000 + ROUNDS * 20_000,
)

test(`a project of ${KEYS} keys that is archived under load admits nothing afterwards, with any of them on any edge`, async () => {
  const project = await newProject()
  const keys: string[] = []
  while (keys.length < KEYS) {
    const some = await Promise.all(Array.from({ length: 10 }, () => newKey(project)))
    keys.push(...some.map(({ value }) => value))
  }
  const outcome = await endUnderLoad(keys, () => projects().archive(project.id))
  console.log(`${KEYS} keys: ${outcome.rate} requests a second; ${JSON.stringify(outcome)}`)
  expect(outcome.others).toEqual([])
  for (const url of administered.gateway.urls) {
    const statuses = await Promise.all(
      keys.map(async (key) => {
        const response = await fetch(`${url}/v1/plan`, { headers: { authorization: `Bearer ${key}` } })
        await response.arrayBuffer()
        return response.status
      }),
    )
    expect(new Set(statuses)).toEqual(new Set([401]))
  }
}, 180_000)
