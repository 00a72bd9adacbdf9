import { afterEach, expect, test, vi } from 'vitest'
import { type Health, newHealth } from './core/backend-health.ts'
import type { Backend, BackendRegistry } from './backend-registry.ts'
import type { RouterMetrics } from './metrics.ts'
import { openConcurrencyLimiter } from './concurrency-limiter.ts'
import { openProbes } from './probes.ts'

const LOOK_EVERY_MS = 250

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** A backend whose ejection ends in a second, and a router that looks at it when the test says so, or not at all. */
function openRouter() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let nowMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const probe = vi.fn<Backend['client']['probe']>().mockResolvedValue('alive')
  const health = { ...newHealth(), halfOpen: true, ejections: 1, ejectedUntilMs: 1_000, turnedAtMs: 0 }
  const backend = { client: { probe }, config: { id: 'a' } } as unknown as Backend
  const backendRegistry = { backends: () => [backend] } as unknown as BackendRegistry
  const limiter = openConcurrencyLimiter()
  const probes = openProbes(backendRegistry, limiter, { health() {} } as unknown as RouterMetrics)
  const look = async (atMs: number) => {
    nowMs = atMs
    await vi.advanceTimersByTimeAsync(LOOK_EVERY_MS)
  }
  const fail = (after: Health) => {
    backend.health = after
    probes.watch()
  }
  fail(health)
  return { backend, limiter, probe, look, fail, [Symbol.dispose]: () => probes[Symbol.dispose]() }
}

test.each([
  ['in time', 800],
  ['late, since the process stood still', 1_100],
])('a router that looks %s probes an ejected backend once', async (_, atMs) => {
  using router = openRouter()
  await router.look(500)
  expect(router.probe).not.toHaveBeenCalled()
  await router.look(atMs)
  for (const more of [250, 500, 750]) await router.look(atMs + more)
  expect(router.probe).toHaveBeenCalledOnce()
})

test('a backend that is dead is probed again at the end of its next ejection', async () => {
  using router = openRouter()
  router.probe.mockResolvedValue('dead')
  await router.look(1_100)
  const { ejectedUntilMs } = router.backend.health
  expect(ejectedUntilMs).toBeGreaterThan(2_000)
  await router.look(ejectedUntilMs - 500)
  expect(router.probe).toHaveBeenCalledOnce()
  await router.look(ejectedUntilMs - 100)
  expect(router.probe).toHaveBeenCalledTimes(2)
})

test('a late router leaves a backend to the request that tries it', async () => {
  using router = openRouter()
  router.backend.health = { ...router.backend.health, halfOpenAttempt: { startedAtMs: 1_050, account: 'acc' } }
  await router.look(1_100)
  expect(router.probe).not.toHaveBeenCalled()
})

/** As repeats of one request leave it. */
const doubted = (doubtedAtMs: number) => ({ ...newHealth(), consecutiveFailures: 3, doubtedAtMs })

test.each(['dead', 'failing'] as const)(
  'a backend that fails at repeats of one request and is %s is out for all',
  async (found) => {
    using router = openRouter()
    router.probe.mockResolvedValue(found)
    router.fail(doubted(90))
    await router.look(100)
    expect(router.backend.health).toMatchObject({ halfOpen: true, outFor: null, ejections: 1 })
  },
)

test('a backend that fails at repeats of one request and is alive stays, and is probed again only if it fails again', async () => {
  using router = openRouter()
  router.fail(doubted(90))
  for (const atMs of [100, 400, 5_400, 10_900]) await router.look(atMs)
  expect(router.backend.health.halfOpen).toBe(false)
  expect(router.probe).toHaveBeenCalledOnce()
  router.fail(doubted(11_000))
  await router.look(11_100)
  expect(router.probe).toHaveBeenCalledTimes(2)
})

test('a router looks at its backends only while one of them may need a probe', async () => {
  using router = openRouter()
  const looks = vi.getTimerCount()
  expect(looks).toBe(1)
  await router.look(1_100)
  await router.look(1_350)
  expect([router.probe.mock.calls.length, vi.getTimerCount()]).toEqual([1, 0])
  router.fail(newHealth())
  await router.look(2_000)
  expect(vi.getTimerCount()).toBe(0)
  router.fail(doubted(2_100))
  await router.look(2_200)
  expect([router.probe.mock.calls.length, vi.getTimerCount()]).toEqual([1, 1])
  await router.look(6_200)
  await router.look(6_450)
  expect([router.probe.mock.calls.length, vi.getTimerCount()]).toEqual([2, 0])
})

test('a job that waits for a backend chooses again when a probe has found it dead', async () => {
  using router = openRouter()
  router.probe.mockResolvedValue('dead')
  const choose = vi.fn<() => null>(() => null)
  const client = new AbortController()
  const waiting = router.limiter.wait({
    account: 'acc',
    wants: () => true,
    choose,
    choiceAtMs: () => Infinity,
    timeoutMs: 60_000,
    signal: client.signal,
  })
  await router.look(1_100)
  expect(choose).toHaveBeenCalled()
  client.abort()
  await waiting
})
