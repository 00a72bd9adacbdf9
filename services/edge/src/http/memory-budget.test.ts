import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LEAST_BYTES_IN_FLIGHT, trackBytesInFlight, type MemoryReservation } from './memory-budget.ts'
import { clientNetwork } from './client-network.ts'
import type { StepResponse } from './take-steps.ts'

const MEGABYTE = 1024 * 1024

function stage() {
  const shed: string[] = []
  const bytes = trackBytesInFlight(LEAST_BYTES_IN_FLIGHT, clientNetwork(false), (reason) => shed.push(reason))
  const open = (address: string) => {
    const request = { headers: {}, socket: { remoteAddress: address } } as unknown as IncomingMessage
    const response = Object.assign(new EventEmitter(), { locals: {} }) as unknown as StepResponse
    const reservation = bytes.reserveRequest(request, response)
    return { reservation, close: () => void response.emit('close') }
  }
  return { bytes, open, shed }
}

/** One request, from its first byte to its last, as clients, keys and admission may have it. */
interface RequestPlan {
  address: string
  account: string
  isGuest: boolean
  small: boolean
  bytes: number
  /** Of its chunks, beyond the announced length. */
  chunks: number[]
  keyLives: boolean
  isAdmitted: boolean
  /** Its response runs for others, too. */
  isClaimed: boolean
  reserved: number[]
  released: number
  /** After how many of its steps its client leaves. */
  leavesAfter: number
}

const requestPlan: fc.Arbitrary<RequestPlan> = fc.record({
  address: fc.constantFrom('10.0.0.1', '10.0.0.2'),
  account: fc.constantFrom('a', 'b'),
  isGuest: fc.boolean(),
  small: fc.boolean(),
  bytes: fc.integer({ min: 0, max: 25 * MEGABYTE }),
  chunks: fc.array(fc.integer({ min: 0, max: 5 * MEGABYTE }), { maxLength: 4 }),
  keyLives: fc.boolean(),
  isAdmitted: fc.boolean(),
  isClaimed: fc.boolean(),
  reserved: fc.array(fc.integer({ min: 0, max: 30 * MEGABYTE }), { maxLength: 4 }),
  released: fc.nat(4),
  leavesAfter: fc.nat(12),
})

/** The steps of one request, so that many can run at once. Ends where the request is refused. */
async function* stepsOf(requestPlan: RequestPlan, reservation: MemoryReservation): AsyncGenerator<void> {
  const proven = async () => {
    if (!requestPlan.keyLives) throw new Error('INVALID_KEY')
  }
  if (!requestPlan.small || !reservation.takeUnproven(requestPlan.bytes % 65_536)) {
    yield
    await reservation.whileProving(requestPlan.bytes % 65_536, proven)
    yield
    reservation.takeProven(requestPlan.account, requestPlan.isGuest, requestPlan.bytes)
  }
  yield
  let read = requestPlan.bytes
  for (const chunk of requestPlan.chunks) {
    const refusal = reservation.bodyIs((read += chunk))
    if (refusal) throw refusal
    yield
  }
  if (!requestPlan.isAdmitted) throw new Error('denied')
  reservation.provenAs(requestPlan.account, requestPlan.isGuest)
  yield
  const running = Promise.withResolvers<void>()
  const run = requestPlan.isClaimed ? reservation.whileRunning(() => running.promise) : undefined
  for (const [index, bytes] of requestPlan.reserved.entries()) {
    reservation.reserve(bytes)
    yield
    if (index < requestPlan.released) reservation.release(bytes)
    yield
  }
  running.resolve()
  await run
}

test('however requests end, they leave no reserved byte behind', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(requestPlan, { minLength: 1, maxLength: 8 }), async (plans) => {
      const { bytes, open } = stage()
      const running = plans.map((one) => {
        const { reservation, close } = open(one.address)
        return { steps: stepsOf(one, reservation), left: one.leavesAfter, close, isOver: false }
      })
      while (running.some(({ isOver }) => !isOver)) {
        for (const one of running) {
          if (one.isOver) continue
          // Its client leaves; the edge may go on with it for a while.
          if (one.left-- === 0) one.close()
          const { done } = await one.steps.next().catch(() => ({ done: true }))
          if (done) one.isOver = true
        }
        for (const { used } of Object.values(bytes.budget.memoryBudgets)) expect(used).toBeGreaterThanOrEqual(0)
      }
      for (const { close, left } of running) if (left >= 0) close()
      for (const { used, bySender } of Object.values(bytes.budget.memoryBudgets))
        expect([used, bySender.size]).toEqual([0, 0])
    }),
    { numRuns: 500 },
  )
})

test('a sender is charged at its own address while its key is not proven, and at its account later', () => {
  const { bytes, open } = stage()
  const { reservation, close } = open('2001:db8::1')
  expect(reservation.takeUnproven(1_000)).toBe(true)
  expect([...bytes.budget.memoryBudgets.unproven.bySender]).toEqual([['2001:db8:0:0::/64', 1_000]])
  reservation.provenAs('team', false)
  expect(bytes.budget.memoryBudgets.unproven.bySender.size).toBe(0)
  expect([...bytes.budget.memoryBudgets.accounts.bySender]).toEqual([['team', 1_000]])
  close()
})

test("the CPU time of a request before its key is proven is its account's afterwards, and no longer its address's", () => {
  const { open } = stage()
  const { reservation } = open('10.0.0.1')
  reservation.cpu.chargeDropped(25 * MEGABYTE)
  expect(open('10.0.0.1').reservation.cpu.isOverShare()).toBe(true)
  reservation.provenAs('team', false)
  expect(open('10.0.0.1').reservation.cpu.isOverShare()).toBe(false)
  const next = open('10.0.0.2').reservation
  next.provenAs('team', false)
  expect(next.cpu.isOverShare()).toBe(true)
})

test('guests of one address share its memory, and learn when to come back', () => {
  const { open, shed } = stage()
  open('10.0.0.1').reservation.takeProven('guest 1', true, 20 * MEGABYTE)
  const next = open('10.0.0.1').reservation
  expect(() => next.takeProven('guest 2', true, 20 * MEGABYTE)).toThrow(
    expect.objectContaining({ code: 'rate_limit_exceeded', details: { type: 'requests', retryAfterMs: 1_000 } }),
  )
  expect(shed).toEqual(['sender_full'])
})

test('while responses that nobody reads fill their part, the senders with most of them lose theirs', () => {
  const { open, shed } = stage()
  const slow = open('10.0.0.1').reservation
  slow.takeProven('slow', false, 0)
  expect(slow.reserve(100_000)).toBe(true)
  const hostile = open('10.0.0.2').reservation
  hostile.takeProven('hostile', false, 0)
  let reserved = 0
  while (hostile.reserve(256 * 1024)) reserved += 256 * 1024
  expect(reserved).toBeLessThanOrEqual((LEAST_BYTES_IN_FLIGHT * 3) / 8)
  expect(slow.reserve(10_000)).toBe(true)
  expect(shed).toEqual(['unread_answer'])
})

test('a thread that read a body counts for its sender when its response closes, whether its client had left or not', () => {
  for (const leavesFirst of [false, true]) {
    const { open } = stage()
    const { reservation, close } = open('10.0.0.1')
    reservation.provenAs('team', false)
    if (leavesFirst) close()
    reservation.cpu.usedThread(10_000)
    if (!leavesFirst) close()
    const { reservation: next } = open('10.0.0.1')
    next.provenAs('team', false)
    expect(next.cpu.isOverShare()).toBe(true)
  }
})
