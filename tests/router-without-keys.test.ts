/**
 * A router starts while the keys service is away. It gives a drained backend no request, and the other backends serve: an outage of
 * keys is none of inference.
 */

import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdministeredCluster, adminClient, openAdministered } from './administration/administered.ts'
import { send, userMessages } from './promises/gateway.ts'

const BACKEND = 'steady-a'
const REQUESTS = 30
const SOON = { timeout: 60_000, interval: 100 }

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
let client: OpenAI
beforeAll(async () => {
  administered = await openAdministered(stack, { edges: 1, routers: 1 })
  const { projects } = administered.admin.admin.organization
  const { id } = await projects.create({ name: 'Search' })
  const { api_key: key } = await projects.serviceAccounts.create(id, { name: 'search' })
  client = adminClient(administered.gateway, key!.value)
})
afterAll(() => stack.disposeAsync())

async function administer(method: 'GET' | 'POST', path = ''): Promise<Record<string, unknown>> {
  const { gateway, adminKey } = administered
  const { status, body } = await send(gateway.urls[0], `/admin/v1/backends${path}`, { method, key: adminKey })
  expect({ status, body }).toMatchObject({ status: 200 })
  return body
}

async function stateOf(id: string): Promise<string | undefined> {
  const { data, alive } = (await administer('GET')) as { data: { id: string; state: string }[]; alive: number }
  return alive === 1 ? data.find((backend) => backend.id === id)?.state : undefined
}

const chat = (words: string) =>
  client.chat.completions.create({ model: 'svc-instant', max_tokens: 5, messages: userMessages(`Say: ${words}`) })

const isServed = (words: string) =>
  chat(words).then(
    () => true,
    () => false,
  )

const received = (words: string) =>
  administered.gateway.backends.steadyA.calls.filter(({ body }) => JSON.stringify(body).includes(`Say: ${words}`))
    .length

/** Kills the router, and waits for the next one to serve. */
async function restartRouter(words: string): Promise<void> {
  const router = administered.cluster.process('router-1')
  const { pid } = router
  router.kill('SIGKILL')
  await expect.poll(() => router.pid !== undefined && router.pid !== pid, SOON).toBe(true)
  await expect.poll(() => isServed(words), SOON).toBe(true)
}

test('a router that starts while keys is away holds a drained backend, and serves by the others', async () => {
  // The store knows the key from here on.
  await expect.poll(() => isServed('before'), SOON).toBe(true)
  await administer('POST', `/${BACKEND}/drain`)
  await expect.poll(() => stateOf(BACKEND), SOON).toBe('drained')
  await expect.poll(() => isServed('drained'), SOON).toBe(true)

  const keys = administered.cluster.process('keys-1').pid!
  process.kill(keys, 'SIGSTOP')
  try {
    await restartRouter('without keys')
    for (let request = 0; request < REQUESTS; request++) await chat('without keys')
    expect(received('without keys')).toBe(0)
  } finally {
    process.kill(keys, 'SIGCONT')
  }

  // Back again, keys' own word counts.
  await administer('POST', `/${BACKEND}/restore`)
  await expect.poll(() => stateOf(BACKEND), SOON).toBe('usable')
  await expect
    .poll(async () => {
      await chat('restored')
      return received('restored')
    }, SOON)
    .toBeGreaterThan(0)
})
