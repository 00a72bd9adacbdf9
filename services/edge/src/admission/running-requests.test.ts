import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EdgeAdmission, RunningLease } from '@gateway/admission/port'
import { createLogger } from '@gateway/telemetry/logger'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { rpcClient } from '@gateway/rpc/client'
import { openAccountCache } from '../auth/account-cache.ts'
import { followDeadKeys, LEASE_MS, trackRunningRequests, type RunningRequests } from './running-requests.ts'

let renewed: RunningLease[][]
let lost: string[]
let onRenew: () => void
let running: RunningRequests

beforeEach(() => {
  vi.useFakeTimers()
  renewed = []
  lost = []
  onRenew = () => {}
  const admission: Pick<EdgeAdmission, 'renew'> = {
    async renew(leases) {
      renewed.push(leases)
      onRenew()
      return lost
    },
  }
  running = trackRunningRequests(admission as EdgeAdmission, createLogger({ service: 'test', level: 'silent' }))
})
afterEach(() => {
  running[Symbol.dispose]()
  vi.useRealTimers()
})

const reservation = { worstCharge: 10, window: '2026-11' }
const begin = (requestId: string, more: object = { reservation }) =>
  running.begin({ account: 'Tag12345', requestId, keyHash: 'hash', stream: true, cut() {}, ...more })
const aLease = () => vi.advanceTimersByTimeAsync(LEASE_MS)
const ids = (leases: RunningLease[] = []) => leases.map(({ requestId }) => requestId)

test('a running request keeps its reservation, however long it takes', async () => {
  begin('a')
  begin('b')
  await aLease()
  expect(renewed.length).toBeGreaterThanOrEqual(2)
  expect(renewed.map((leases) => ids(leases))).toEqual(renewed.map(() => ['a', 'b']))
  running.end('a')
  renewed = []
  await aLease()
  expect(ids(renewed[0])).toEqual(['b'])
})

test("a renewal repeats a request's worst charge only where the store has lost it", async () => {
  begin('a')
  begin('b')
  lost = ['b']
  await aLease()
  const [first, second] = renewed
  expect(first).toEqual([
    { account: 'Tag12345', requestId: 'a' },
    { account: 'Tag12345', requestId: 'b' },
  ])
  expect(second).toEqual([{ account: 'Tag12345', requestId: 'b', ...reservation }])
})

test('a request that ended during the renewal is not held again', async () => {
  begin('a')
  lost = ['a']
  onRenew = () => running.end('a')
  await aLease()
  expect(renewed).toHaveLength(1)
})

test("a client that reads another's response holds nothing", async () => {
  begin('a', {})
  await aLease()
  expect(renewed).toEqual([])
})

test("a project's key comes with a reservation that is repeated, so that its own limits count the request again", async () => {
  begin('a', { reservation: { ...reservation, keyId: 'key00001' } })
  lost = ['a']
  await aLease()
  expect(renewed[0]).toEqual([{ account: 'Tag12345', requestId: 'a' }])
  expect(renewed[1]).toEqual([{ account: 'Tag12345', requestId: 'a', ...reservation, keyId: 'key00001' }])
})

test('a suspension cuts the requests that were admitted before it, also those that begin late, and none of the restored key', () => {
  const cut: string[] = []
  const start = (requestId: string, planVersion: number) =>
    begin(requestId, { reservation, planVersion, cut: () => void cut.push(requestId) })
  start('before', 6)
  running.cutKey('hash', 7)
  start('late', 7)
  start('restored', 8)
  running.cutKey('hash', 7)
  expect(cut).toEqual(['before', 'late', 'before', 'late'])
  running.cutKey('hash')
  expect(cut).toContain('restored')
})

test('a suspension that is repeated cuts nothing again, and its key may be alive; a revoked key is dead for ever', async () => {
  vi.useRealTimers()
  await using bus = await openMemoryBus({ hub: createMemoryHub() })
  const cuts: [string, number | undefined][] = []
  const plans = openAccountCache()
  const holder = { cutKey: (keyHash: string, upTo?: number) => void cuts.push([keyHash, upTo]) }
  await using _following = await followDeadKeys(bus, [holder], plans)
  const keys = rpcClient('keys', bus)
  const event = { account: 'Tag12345', keyHash: 'hash', keyId: 'key00001' }
  for (const version of [7, 7, 9]) keys.publish('keysInvalidated', { ...event, reason: 'suspended', version })
  await expect.poll(() => cuts.length).toBe(2)
  expect(cuts).toEqual([
    ['hash', 7],
    ['hash', 9],
  ])
  expect(plans.isDeadKey('hash')).toBe(false)
  keys.publish('keysInvalidated', { ...event, reason: 'revoked' })
  await expect.poll(() => plans.isDeadKey('hash')).toBe(true)
  expect(cuts.at(-1)).toEqual(['hash', undefined])
})
