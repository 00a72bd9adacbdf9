import { describe, expect, test } from 'vitest'
import { completion, goodChat, sendJson } from './http-backend.ts'
import { shareOfLimit } from '../src/core/share-limit.ts'
import { backend, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'

/** Responds only when the test lets it, one request after another. */
async function heldBackend() {
  const held: (() => void)[] = []
  let most = 0
  let running = 0
  const started = await backend((response) => {
    most = Math.max(most, ++running)
    held.push(() => {
      running--
      sendJson(response, 200, completion())
    })
  })
  return { backend: started, held, most: () => most, releaseOne: () => held.shift()?.() }
}

describe('a backend’s limit', () => {
  test('is never passed, and those who wait are served when a place is free', async () => {
    const one = await heldBackend()
    const under = await router(
      poolOver([one.backend.url], { backend: { maxConcurrent: 2, timeouts: { firstByteMs: 5_000 } } }),
    )
    const jobs = Array.from({ length: 6 }, () => under.send())
    let served = 0
    for (const job of jobs) void job.over.then(() => served++)
    const isOver = () => served === 6
    await expect.poll(() => one.held.length, SOON).toBe(2)
    while (!isOver()) {
      one.releaseOne()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(jobs.map((job) => job.failure)).toEqual(jobs.map(() => null))
    expect(one.most()).toBe(2)
  })

  test('sends work on to the next priority before anyone waits', async () => {
    const one = await heldBackend()
    const b = await backend((response) => sendJson(response, 200, completion()))
    const under = await router(
      poolOver([one.backend.url, b.url], { backend: { maxConcurrent: 1, timeouts: { firstByteMs: 5_000 } } }),
    )
    const first = under.send()
    await expect.poll(() => one.held.length, SOON).toBe(1)
    expect((await under.sendRequest()).head?.backend).toBe('b')
    one.releaseOne()
    await first.over
    expect(first.head?.backend).toBe('a')
  })

  test('lets accounts take turns: one that floods does not keep out another', async () => {
    const one = await heldBackend()
    const under = await router(
      poolOver([one.backend.url], { backend: { maxConcurrent: 1, timeouts: { firstByteMs: 5_000 } } }),
    )
    const order: string[] = []
    const send = (account: string) => {
      const job = under.send({ account })
      void job.over.then(() => order.push(account))
      return job
    }
    const jobs = [...Array.from({ length: 5 }, () => send('flood')), send('small')]
    await expect.poll(() => one.held.length, SOON).toBe(1)
    const all = Promise.all(jobs.map((job) => job.over))
    const releasing = setInterval(one.releaseOne, 5)
    await all
    clearInterval(releasing)
    expect(order.indexOf('small')).toBeLessThanOrEqual(2)
  })

  test('with nothing free in time is a SERVICE_UNAVAILABLE, and no backend was called', async () => {
    const one = await heldBackend()
    const under = await router(
      poolOver([one.backend.url], { backend: { maxConcurrent: 1, timeouts: { firstByteMs: 5_000 } } }),
    )
    const first = under.send()
    await expect.poll(() => one.held.length, SOON).toBe(1)
    const late = await under.sendRequest({ remainingMs: 200 })
    expect(late.failure).toMatchObject({ code: 'SERVICE_UNAVAILABLE', attempted: [] })
    one.releaseOne()
    await first.over
  })

  test('gives the place of a caller that stops waiting to nobody', async () => {
    const one = await heldBackend()
    const under = await router(
      poolOver([one.backend.url], { backend: { maxConcurrent: 1, timeouts: { firstByteMs: 5_000 } } }),
    )
    const first = under.send()
    await expect.poll(() => one.held.length, SOON).toBe(1)
    under.send().abort('stopped')
    const third = under.send()
    one.releaseOne()
    await first.over
    await expect.poll(() => one.held.length, SOON).toBe(1)
    one.releaseOne()
    await third.over
    expect(third.end).not.toBeNull()
    expect(one.backend.seen).toHaveLength(2)
  })

  test('follows the config while jobs wait', async () => {
    const one = await heldBackend()
    const limited = (maxConcurrent: number) =>
      poolOver([one.backend.url], { backend: { maxConcurrent, timeouts: { firstByteMs: 5_000 } } })
    const under = await router(limited(1))
    const jobs = [under.send(), under.send(), under.send()]
    await expect.poll(() => one.held.length, SOON).toBe(1)
    await under.reconfigure(limited(3))
    await expect.poll(() => one.held.length, SOON).toBe(3)
    while (one.held.length > 0) one.releaseOne()
    await Promise.all(jobs.map((job) => job.over))
    expect(jobs.every((job) => job.end)).toBe(true)
  })

  test('holds across a new config: requests under the former key take their places', async () => {
    const one = await heldBackend()
    const under = await router(poolOver([one.backend.url], { backend: { apiKey: 'former', maxConcurrent: 2 } }))
    const jobs = [under.send(), under.send()]
    await expect.poll(() => one.held.length, SOON).toBe(2)
    await under.reconfigure(poolOver([one.backend.url], { backend: { apiKey: 'current', maxConcurrent: 1 } }))
    jobs.push(under.send(), under.send())
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(one.most()).toBe(2)
    one.releaseOne()
    await jobs[0]!.over
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(one.backend.seen).toHaveLength(2)
    for (const [index, job] of jobs.entries()) {
      if (index > 1) await expect.poll(() => one.backend.seen.length, SOON).toBe(index + 1)
      one.releaseOne()
      await job.over
    }
    expect(jobs.every((job) => job.end)).toBe(true)
    const keys = one.backend.seen.map(({ headers }) => headers.authorization)
    expect(keys).toEqual(['Bearer former', 'Bearer former', 'Bearer current', 'Bearer current'])
  })

  test('of another server under the same name is its own', async () => {
    const [former, current] = [await heldBackend(), await heldBackend()]
    const limit = { backend: { maxConcurrent: 1 } }
    const under = await router(poolOver([former.backend.url], limit))
    const jobs = [under.send()]
    await expect.poll(() => former.held.length, SOON).toBe(1)
    await under.reconfigure(poolOver([current.backend.url], limit))
    jobs.push(under.send())
    await expect.poll(() => current.held.length, SOON).toBe(1)
    former.releaseOne()
    current.releaseOne()
    await Promise.all(jobs.map((job) => job.over))
    expect(jobs.every((job) => job.end)).toBe(true)
  })

  test('is no reason to repeat a request at a server that the config has left', async () => {
    const former = await backend((response) => sendJson(response, 429, {}, { 'retry-after-ms': '300' }))
    const current = await backend(goodChat)
    const under = await router(poolOver([former.url]))
    const job = under.send()
    await expect.poll(() => former.seen.length, SOON).toBe(1)
    await under.reconfigure(poolOver([current.url]))
    await job.over
    expect(job.end).not.toBeNull()
    expect([former.seen.length, current.seen.length]).toEqual([1, 1])
  })
})

describe('more routers than places', () => {
  /** Whichever of two is first by its name has backend a's only place, or has not. */
  const isFirst = shareOfLimit(1, 'a', { index: 0, of: 2, held: {} }) === 0
  const holder = { routerId: isFirst ? 'sorts behind it' : 'a router before it' }
  const one = { backend: { maxConcurrent: 1 } }

  test('one that has none leaves the pool to the others until it has', async () => {
    const a = await backend(goodChat)
    const under = await router(poolOver([a.url], one))
    const late = under.keepTaker()
    await under.hear(holder)
    expect(under.servedPools()).toEqual([])
    expect(late().rejected).toBe('no_place')
    expect(a.seen).toHaveLength(0)

    await under.hear({ ...holder, leaving: { a: 1 } })
    expect(under.servedPools()).toEqual([])
    await under.hear({ ...holder, leaving: { a: 0 } })
    expect(under.servedPools()).toEqual(['job.spark'])
    expect((await under.sendRequest()).head?.backend).toBe('a')
  })

  test('a job whose other backends failed goes where there is no place rather than fail, one at a time', async () => {
    const failing = await backend((response) => sendJson(response, 500, {}))
    const busy = await heldBackend()
    const config = poolOver([busy.backend.url, failing.url], { backend: { timeouts: { firstByteMs: 5_000 } } })
    config.backends[0]!.maxConcurrent = 1
    const under = await router(config)
    await under.hear(holder)
    const jobs = [under.send(), under.send(), under.send()]
    for (let served = 0; served < jobs.length; served++) {
      await expect.poll(() => busy.held.length, SOON).toBe(1)
      busy.releaseOne()
    }
    await Promise.all(jobs.map((job) => job.over))
    expect(jobs.map(({ head }) => head?.backend)).toEqual(['a', 'a', 'a'])
    expect(busy.most()).toBe(1)
  })
})
