/**
 * An operator drains a backend while two routers serve requests, and a router dies in the middle. No router sends the backend a new
 * request, the open ones finish, and routers that start later hold it, too. Restored, the backend serves again.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { camelCased } from '@gateway/contracts/administration/snake-case'
import { showRoutersReply, type RouterView } from '@gateway/contracts/routers-api'
import { BACKEND, type ControlledCluster, openControlled } from './administration/controlled.ts'
import { userMessages } from './promises/gateway.ts'

const ROUTERS = ['router-1', 'router-2'] as const
const SENDERS = 8
const STREAMS = 12
const REQUESTS_AFTER = 20
const SOON = { timeout: 60_000, interval: 20 }

const stack = new AsyncDisposableStack()
let stage: ControlledCluster
beforeAll(async () => void (stage = await openControlled(stack, ROUTERS.length)))
afterAll(() => stack.disposeAsync())

async function showRouters(): Promise<RouterView[]> {
  return showRoutersReply.parse(camelCased(await stage.showBackends())).routers
}

const viewOf = ({ backends }: RouterView) => backends.find(({ backend }) => backend === BACKEND)!
const pidOf = (name: string) => stage.cluster.process(name).pid

/** Of the running processes alone: a router that is gone is listed for a moment. */
async function controls(): Promise<Record<string, string | null | undefined>> {
  const routers = await showRouters()
  const controlOf = (name: string) => {
    const router = routers.find(({ pid }) => pid === pidOf(name))
    return router && viewOf(router).control
  }
  return Object.fromEntries(ROUTERS.map((name) => [name, controlOf(name)]))
}

const onAll = (word: string | null) => Object.fromEntries(ROUTERS.map((name) => [name, word]))

/** Sends requests without a pause. Each says the words of the moment. */
function keepRequesting(first: string) {
  const state = { words: first, served: 0, isOver: false }
  const senders = Array.from({ length: SENDERS }, async () => {
    while (!state.isOver) {
      // A request whose router dies fails.
      await stage.chat(state.words).then(
        () => state.served++,
        () => undefined,
      )
    }
  })
  return {
    state,
    async [Symbol.asyncDispose]() {
      state.isOver = true
      await Promise.all(senders)
    },
  }
}

/** A stream of some seconds, whose first content has come. True in the end: it is complete. */
async function openStream(): Promise<{ isComplete: Promise<boolean> }> {
  const stream = await stage.client.chat.completions.create({
    model: 'svc-instant',
    stream: true,
    messages: userMessages('100 words'),
  })
  const chunks = stream[Symbol.asyncIterator]()
  await chunks.next()
  const readToEnd = async () => {
    for (let chunk = await chunks.next(); !chunk.done; chunk = await chunks.next())
      if (chunk.value.choices[0]?.finish_reason === 'stop') return true
    return false
  }
  return { isComplete: readToEnd().catch(() => false) }
}

test('a drained backend gets no request from any router, open ones finish, and routers that start again hold it', async () => {
  const { cluster, backend, received, control, chat } = stage
  backend.fail({ stream: true, paceMs: 50 })
  const streams = await Promise.all(Array.from({ length: STREAMS }, openStream))
  const survivor = (await showRouters()).find(({ pid }) => pid === pidOf('router-2'))!
  const { outstanding } = viewOf(survivor)
  await using load = keepRequesting('before the drain')
  await expect.poll(() => received('before the drain'), SOON).toBeGreaterThan(SENDERS)

  const draining = control('drain')
  cluster.process('router-1').kill('SIGKILL')
  await draining
  const drainedAtMs = performance.now()
  await expect.poll(controls, SOON).toMatchObject({ 'router-2': 'drained' })
  console.log(`the other router held the drain after ${Math.round(performance.now() - drainedAtMs)} ms`)
  load.state.words = 'one router drained'
  await expect.poll(controls, SOON).toEqual(onAll('drained'))
  load.state.words = 'both routers drained'
  const complete = await Promise.all(streams.map(({ isComplete }) => isComplete))
  expect(complete.filter(Boolean)).toHaveLength(outstanding)

  const former = ROUTERS.map(pidOf)
  for (const name of ROUTERS) cluster.process(name).kill('SIGKILL')
  await expect.poll(() => ROUTERS.map(pidOf).filter((pid) => pid && !former.includes(pid)), SOON).toHaveLength(2)
  load.state.words = 'started again'
  await expect.poll(controls, SOON).toEqual(onAll('drained'))
  const { served } = load.state
  await expect.poll(() => load.state.served, SOON).toBeGreaterThan(served + REQUESTS_AFTER)
  expect(received('one router drained')).toBe(0)
  expect(received('both routers drained')).toBe(0)
  expect(received('started again')).toBe(0)

  const restoring = performance.now()
  await control('restore')
  await expect.poll(controls, SOON).toEqual(onAll(null))
  console.log(`both routers used it again ${Math.round(performance.now() - restoring)} ms after the call began`)
  load.state.isOver = true
  const before = received('restored')
  await Promise.all(Array.from({ length: REQUESTS_AFTER }, () => chat('restored')))
  expect(received('restored') - before).toBe(REQUESTS_AFTER)
})
