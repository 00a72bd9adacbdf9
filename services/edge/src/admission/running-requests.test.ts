import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EdgeAdmission, RunningLease } from '@gateway/admission/port'
import { createLogger } from '@gateway/telemetry/logger'
import { LEASE_MS, trackRunningRequests, type RunningRequests } from './running-requests.ts'

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
