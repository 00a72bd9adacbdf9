import { createMemoryHub, type MemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { rpcClient } from '@gateway/rpc/client'
import { serve } from '@gateway/rpc/server'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { followControls } from './follow-controls.ts'

const logger = createLogger({ service: 'router', level: 'silent' })
let hub: MemoryHub
let stack: AsyncDisposableStack
beforeEach(() => {
  stack = new AsyncDisposableStack()
  hub = createMemoryHub({ streams: [] })
})
afterEach(() => stack.disposeAsync())

type Word = { backend: string; control: 'ejected' | 'drained' }

/** Serves the part of keys that routers request. */
async function keysWith(controls: () => Word[]): Promise<AsyncDisposable> {
  const bus = stack.use(await openMemoryBus({ hub }))
  const handlers = { keysBackendControls: async () => ({ controls: controls() }) }
  const metrics = createMetrics({ service: 'keys' })
  return serve({ bus, logger, metrics }, 'keys', handlers as unknown as Parameters<typeof serve<'keys'>>[2])
}

async function openFollower() {
  const bus = stack.use(await openMemoryBus({ hub }))
  const seen: Record<string, string>[] = []
  const onChange = (controls: ReadonlyMap<string, string>) => void seen.push(Object.fromEntries(controls))
  stack.use(await followControls({ bus, logger, onChange }))
  return seen
}

test('a router that starts later knows the words of operators before it takes a job', async () => {
  stack.use(await keysWith(() => [{ backend: 'a', control: 'drained' }]))
  expect(await openFollower()).toEqual([{ a: 'drained' }])
})

test('a change is known within a second, and no change is no event', async () => {
  let controls: Word[] = []
  stack.use(await keysWith(() => controls))
  const seen = await openFollower()
  controls = [{ backend: 'a', control: 'ejected' }]
  await vi.waitFor(() => expect(seen).toEqual([{ a: 'ejected' }]), { timeout: 1_000 })
  controls = []
  await vi.waitFor(() => expect(seen).toEqual([{ a: 'ejected' }, {}]), { timeout: 1_000 })
})

test('while keys is away, the last known word holds; afterwards the newest one', async () => {
  const first = await keysWith(() => [{ backend: 'a', control: 'drained' }])
  const seen = await openFollower()
  await first[Symbol.asyncDispose]()
  await new Promise((resolve) => setTimeout(resolve, 600))
  expect(seen).toEqual([{ a: 'drained' }])
  stack.use(await keysWith(() => []))
  await vi.waitFor(() => expect(seen).toEqual([{ a: 'drained' }, {}]), { timeout: 1_500 })
})

describe('a router that hears of the controls', () => {
  async function openPublisher() {
    const keys = rpcClient('keys', stack.use(await openMemoryBus({ hub })))
    return (controls: Word[], readAtMs: number) => keys.publish('keysControls', { controls, readAtMs })
  }

  test('follows each change, and requests none until it hears of nothing for a while', async () => {
    let requests = 0
    const count = (): Word[] => {
      requests++
      return []
    }
    stack.use(await keysWith(count))
    const publish = await openPublisher()
    const seen = await openFollower()
    requests = 0
    for (let round = 1; round <= 30; round++) {
      publish([{ backend: 'a', control: round % 2 === 1 ? 'ejected' : 'drained' }], round)
      await sleep(100)
    }
    // It requests them twice a second otherwise.
    expect(requests).toBeLessThan(3)
    expect(seen.filter((one) => one['a'])).toHaveLength(30)
    await expect.poll(() => requests, { interval: 20 }).toBeGreaterThan(3)
  })

  test('takes none that was read before the one that it has, and any where the clock has changed', async () => {
    const publish = await openPublisher()
    const seen = await openFollower()
    publish([{ backend: 'a', control: 'ejected' }], 100_000)
    publish([], 99_999)
    publish([{ backend: 'b', control: 'ejected' }], 50_000)
    await expect.poll(() => seen, { interval: 5 }).toEqual([{ a: 'ejected' }, { b: 'ejected' }])
  })
})

/** A bus whose kept values cannot be read, until `back` is called. */
async function busWithoutValues() {
  const bus = stack.use(await openMemoryBus({ hub }))
  let isAway = true
  const kept: Bus['kept'] = {
    read: async (...parameters) => {
      if (isAway) throw new Error('JetStream is away')
      return bus.kept.read(...parameters)
    },
    write: (...parameters) => bus.kept.write(...parameters),
  }
  return { bus: { ...bus, kept } satisfies Bus, back: () => void (isAway = false) }
}

test('a router that starts while keys is away holds the last controls that any router knew', async () => {
  const former = await keysWith(() => [{ backend: 'a', control: 'drained' }])
  await openFollower()
  await former[Symbol.asyncDispose]()
  expect(await openFollower()).toEqual([{ a: 'drained' }])
})

test('a restored backend is kept as such', async () => {
  let controls: Word[] = [{ backend: 'a', control: 'drained' }]
  const former = await keysWith(() => controls)
  const seen = await openFollower()
  controls = []
  await vi.waitFor(() => expect(seen).toEqual([{ a: 'drained' }, {}]), { timeout: 5_000 })
  await vi.waitFor(async () => {
    const value = await hub.kept.read('kept.backend-controls', { timeoutMs: 1_000 })
    expect(Buffer.from(value!).toString()).toBe('{"controls":[]}')
  })
  await former[Symbol.asyncDispose]()
  expect(await openFollower()).toEqual([])
})

test('where no router has ever known of controls, a router starts without keys, as beside a release that has none', async () => {
  expect(await openFollower()).toEqual([])
})

test('a router that can read neither keys nor the kept controls takes no job until it can read one of them', async () => {
  const former = await keysWith(() => [{ backend: 'a', control: 'drained' }])
  await openFollower()
  await former[Symbol.asyncDispose]()
  for (const returns of ['keys', 'values'] as const) {
    const { bus, back } = await busWithoutValues()
    let isReady = false
    const seen: object[] = []
    const onChange = (controls: ReadonlyMap<string, string>) => void seen.push(Object.fromEntries(controls))
    const following = followControls({ bus, logger, onChange }).then((follower) => {
      isReady = true
      return follower
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect([isReady, seen]).toEqual([false, []])
    if (returns === 'values') back()
    const keys = returns === 'keys' ? await keysWith(() => [{ backend: 'a', control: 'drained' }]) : null
    stack.use(await following)
    expect(seen).toEqual([{ a: 'drained' }])
    await keys?.[Symbol.asyncDispose]()
  }
})
