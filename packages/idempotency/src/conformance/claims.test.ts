import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Claim, IdempotencyStore } from '../port.ts'
import { onEachAdapter, type OpenStore } from './adapters.ts'

const LEASE_MS = 5_000
const DAY_MS = 86_400_000
const KEEPING = { forMs: DAY_MS, accountBytes: 1_000 }

interface Stage extends AsyncDisposable {
  store: IdempotencyStore
  clock: { nowMs: number; advance(ms: number): void }
  claimOf(requestId: string, fields?: Partial<Claim>): Claim
  claim(requestId: string, after?: string): ReturnType<IdempotencyStore['claim']>
}

/** A store with a clock that the test moves, and an account that it has never heard of. */
async function newStage(open: OpenStore): Promise<Stage> {
  // Records live in Redis by its own clock, which is ahead of none.
  const clock = {
    nowMs: Date.now(),
    advance: (ms: number) => {
      clock.nowMs += ms
    },
  }
  const store = await open({ now: () => clock.nowMs })
  const account = randomUUID().slice(0, 8)
  const claimOf = (requestId: string, fields: Partial<Claim> = {}): Claim => ({
    account,
    name: 'key',
    requestId,
    owner: `owner-of-${requestId}`,
    fingerprint: 'body',
    ...fields,
  })
  return {
    store,
    clock,
    claimOf,
    claim: (requestId, after) =>
      store.claim(claimOf(requestId), { leaseMs: LEASE_MS, ...(after === undefined ? {} : { after }) }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

const running = (requestId: string, lapsed = false) => ({
  kind: 'running',
  fingerprint: 'body',
  requestId,
  owner: `owner-of-${requestId}`,
  lapsed,
})

onEachAdapter((open) => {
  describe('a claim', () => {
    test('goes to one of many requests at once, and the others learn its owner', async () => {
      await using stage = await newStage(open)
      const ids = Array.from({ length: 50 }, (_, index) => `r${index}`)
      const results = await Promise.all(ids.map((id) => stage.claim(id)))
      const claimed = ids.filter((_, index) => results[index]!.kind === 'claimed')
      expect(claimed).toHaveLength(1)
      const others = results.filter(({ kind }) => kind !== 'claimed')
      expect(others).toEqual(others.map(() => running(claimed[0]!)))
    })

    test('that the same request repeats is the same claim', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      expect(await stage.claim('a')).toEqual({ kind: 'claimed' })
    })

    test('on another key or of another account stands in nobody’s way', async () => {
      await using stage = await newStage(open)
      const options = { leaseMs: LEASE_MS }
      await stage.claim('a')
      expect(await stage.store.claim(stage.claimOf('b', { name: 'other' }), options)).toEqual({ kind: 'claimed' })
      const account = randomUUID().slice(0, 8)
      expect(await stage.store.claim(stage.claimOf('c', { account }), options)).toEqual({ kind: 'claimed' })
    })

    test('that is renewed stays, one that is not lapses and says so', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      stage.clock.advance(LEASE_MS - 1)
      expect(await stage.store.renew([stage.claimOf('a')], LEASE_MS)).toEqual([])
      stage.clock.advance(LEASE_MS - 1)
      expect(await stage.claim('b')).toEqual(running('a'))
      stage.clock.advance(1)
      expect(await stage.claim('b')).toEqual(running('a', true))
    })

    test('is taken over only when it has lapsed, by one that names it, and by one only', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      expect(await stage.claim('b', 'a')).toEqual(running('a'))
      stage.clock.advance(LEASE_MS)
      expect(await stage.claim('b')).toEqual(running('a', true))
      expect(await stage.claim('b', 'another')).toEqual(running('a', true))
      expect(await Promise.all([stage.claim('b', 'a'), stage.claim('c', 'a')])).toEqual([
        { kind: 'claimed' },
        running('b'),
      ])
    })

    test('of an owner that comes back too late is lost to it, and its response is not kept', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      stage.clock.advance(LEASE_MS)
      await stage.claim('b', 'a')
      expect(await stage.store.renew([stage.claimOf('a')], LEASE_MS)).toEqual(['a'])
      expect(await stage.store.keep(stage.claimOf('a'), Buffer.from('late'), KEEPING)).toBe(false)
      await stage.store.release(stage.claimOf('a'))
      expect(await stage.claim('c')).toEqual(running('b'))
    })

    test('of an owner that comes back before anyone has taken it over is its own again', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      stage.clock.advance(LEASE_MS)
      expect(await stage.store.renew([stage.claimOf('a')], LEASE_MS)).toEqual([])
      expect(await stage.claim('b', 'a')).toEqual(running('a'))
    })

    test('that the store has forgotten is held again when it is renewed, many at once', async () => {
      await using stage = await newStage(open)
      const account = randomUUID().slice(0, 8)
      const claims = Array.from({ length: 450 }, (_, index) => {
        return stage.claimOf(`r${index}`, index % 2 === 0 ? { name: `key${index}` } : { name: `key${index}`, account })
      })
      expect(await stage.store.renew(claims, LEASE_MS)).toEqual([])
      for (const claim of claims.slice(0, 4)) {
        const other = { ...claim, requestId: 'another' }
        expect(await stage.store.claim(other, { leaseMs: LEASE_MS })).toMatchObject({ requestId: claim.requestId })
      }
    })

    test('that is released is free', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      await stage.store.release(stage.claimOf('a'))
      expect(await stage.claim('b')).toEqual({ kind: 'claimed' })
    })
  })

  describe('a kept response', () => {
    const RESPONSE = Buffer.from([0, 255, 10, 13, 128, 7])

    test('comes back byte by byte to each later claim of its key', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      expect(await stage.store.keep(stage.claimOf('a'), RESPONSE, KEEPING)).toBe(true)
      const result = await stage.claim('b')
      expect(result).toMatchObject({ kind: 'kept', fingerprint: 'body', requestId: 'a', settled: false })
      expect(result.kind === 'kept' && Buffer.from(result.response)).toEqual(RESPONSE)
    })

    test('is settled once its usage is stored, and keeping it again changes nothing', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      await stage.store.settle(stage.claimOf('a'))
      await stage.store.keep(stage.claimOf('a'), RESPONSE, KEEPING)
      await stage.store.settle(stage.claimOf('b'))
      expect(await stage.claim('b')).toMatchObject({ settled: false })
      await stage.store.settle(stage.claimOf('a'))
      expect(await stage.store.keep(stage.claimOf('a'), Buffer.from('else'), KEEPING)).toBe(true)
      const result = await stage.claim('b')
      expect(result).toMatchObject({ kind: 'kept', settled: true })
      expect(result.kind === 'kept' && Buffer.from(result.response)).toEqual(RESPONSE)
    })

    test('is not taken over, however long ago it was', async () => {
      await using stage = await newStage(open)
      await stage.claim('a')
      await stage.store.keep(stage.claimOf('a'), RESPONSE, KEEPING)
      stage.clock.advance(LEASE_MS * 10)
      expect(await stage.claim('b', 'a')).toMatchObject({ kind: 'kept' })
      expect(await stage.store.renew([stage.claimOf('a')], LEASE_MS)).toEqual([])
      expect(await stage.claim('b')).toMatchObject({ kind: 'kept' })
    })

    test('of a claim that the store has forgotten is kept all the same', async () => {
      await using stage = await newStage(open)
      expect(await stage.store.keep(stage.claimOf('a'), RESPONSE, KEEPING)).toBe(true)
      expect(await stage.claim('b')).toMatchObject({ kind: 'kept', requestId: 'a' })
    })

    test('goes when the account keeps more than it may, the oldest first', async () => {
      await using stage = await newStage(open)
      const kept = async (name: string) => {
        const claim = stage.claimOf(name, { name })
        stage.clock.advance(1)
        await stage.store.keep(claim, Buffer.alloc(400), KEEPING)
      }
      const isThere = async (name: string) => {
        const claim = stage.claimOf('asker', { name })
        const { kind } = await stage.store.claim(claim, { leaseMs: LEASE_MS })
        if (kind === 'claimed') await stage.store.release(claim)
        return kind === 'kept'
      }
      await kept('first')
      await kept('second')
      await kept('third')
      expect([await isThere('first'), await isThere('second'), await isThere('third')]).toEqual([false, true, true])
      // Freed bytes count no more.
      await stage.store.release(stage.claimOf('second', { name: 'second' }))
      await kept('fourth')
      expect([await isThere('third'), await isThere('fourth')]).toEqual([true, true])
      // A new response under a dropped key is as young as any.
      await kept('first')
      expect([await isThere('third'), await isThere('fourth'), await isThere('first')]).toEqual([false, true, true])
    })
  })
})
