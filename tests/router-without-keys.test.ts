/**
 * A router starts while the keys service is away. It gives a drained backend no request, and the other backends serve: an outage of
 * keys is none of inference.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { BACKEND, type ControlledCluster, openControlled } from './administration/controlled.ts'

const REQUESTS = 30
const SOON = { timeout: 60_000, interval: 100 }

const stack = new AsyncDisposableStack()
let stage: ControlledCluster
beforeAll(async () => void (stage = await openControlled(stack, 1)))
afterAll(() => stack.disposeAsync())

async function stateOf(id: string): Promise<string | undefined> {
  const { data, alive } = (await stage.showBackends()) as { data: { id: string; state: string }[]; alive: number }
  return alive === 1 ? data.find((backend) => backend.id === id)?.state : undefined
}

const isServed = (words: string) =>
  stage.chat(words).then(
    () => true,
    () => false,
  )

/** Kills the router, and waits for the next one to serve. */
async function restartRouter(words: string): Promise<void> {
  const router = stage.cluster.process('router-1')
  const { pid } = router
  router.kill('SIGKILL')
  await expect.poll(() => router.pid !== undefined && router.pid !== pid, SOON).toBe(true)
  await expect.poll(() => isServed(words), SOON).toBe(true)
}

test('a router that starts while keys is away holds a drained backend, and serves by the others', async () => {
  const { cluster, control, chat, received } = stage
  // The store knows the key from here on.
  await expect.poll(() => isServed('before'), SOON).toBe(true)
  await control('drain')
  await expect.poll(() => stateOf(BACKEND), SOON).toBe('drained')
  await expect.poll(() => isServed('drained'), SOON).toBe(true)

  const keys = cluster.process('keys-1').pid!
  process.kill(keys, 'SIGSTOP')
  try {
    await restartRouter('without keys')
    for (let request = 0; request < REQUESTS; request++) await chat('without keys')
    expect(received('without keys')).toBe(0)
  } finally {
    process.kill(keys, 'SIGCONT')
  }

  // Back again, keys' own word counts.
  await control('restore')
  await expect.poll(() => stateOf(BACKEND), SOON).toBe('usable')
  await expect
    .poll(async () => {
      await chat('restored')
      return received('restored')
    }, SOON)
    .toBeGreaterThan(0)
})
