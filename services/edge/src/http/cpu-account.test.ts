import { availableParallelism } from 'node:os'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createCpuShares, MOMENT_MS, SHARE } from '../core/cpu-shares.ts'
import { CpuAccount } from './cpu-account.ts'

function senders() {
  const shares = createCpuShares()
  const shed: string[] = []
  return { of: (sender: string) => new CpuAccount(shares, { sender }, (reason) => shed.push(reason)), shed }
}

/** A request from the time when a thread may read its body, in any order in which it can go. */
const request = fc.record({
  ms: fc.nat(2_000),
  end: fc.constantFrom('ran', 'refused', 'refused behind admission', 'served by the edge', 'left'),
  leavesWhileRead: fc.boolean(),
})

test('the time of a thread counts for its sender, unless admission lets the request run and nobody refuses it', () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 8 }), (requests) => {
      const { of } = senders()
      let countedMs = 0
      for (const { ms, end, leavesWhileRead } of requests) {
        const cpu = of('team')
        if (leavesWhileRead) cpu.close()
        cpu.usedThread(ms)
        if (leavesWhileRead || end !== 'ran') countedMs += ms
        if (end === 'ran' || end === 'refused behind admission') cpu.admitted()
        if (end.startsWith('refused')) cpu.chargeRefusal()
        cpu.close()
      }
      const threadMs = countedMs / availableParallelism()
      const [owedMs, slackMs] = [of('team').msOverShare() * SHARE, 50]
      if (threadMs > 150) expect(owedMs).toBeGreaterThan(Math.min(threadMs, 1_000) - MOMENT_MS - slackMs)
      if (threadMs < 30) expect(owedMs).toBe(0)
    }),
  )
})

test('a sender is charged once for the bytes of a body, whether its length was announced or not', async () => {
  for (const announced of [0, 10_000_000, 25_000_000]) {
    const { of } = senders()
    const cpu = of('team')
    await cpu.waitForShare(announced)
    await cpu.waitForShare()
    cpu.chargeRead(25_000_000)
    // At 2 ns a byte.
    expect(of('team').msOverShare() * SHARE).toBeLessThanOrEqual(50 - MOMENT_MS)
    cpu.chargeRead(25_000_000)
    expect(of('team').msOverShare() * SHARE).toBeGreaterThan(40)
  }
})

test('a body that is refused before it is read costs its sender none of the announced bytes', async () => {
  const { of } = senders()
  const cpu = of('team')
  await cpu.waitForShare(25_000_000)
  expect(of('team').isOverShare()).toBe(true)
  cpu.refuseAnnounced()
  expect(of('team').isOverShare()).toBe(false)
  cpu.refuseAnnounced()
  cpu.chargeDropped(10_000_000)
  expect(of('team').isOverShare()).toBe(true)
})

test('a request that takes far more than its share is refused with the time to retry, and its neighbour goes on', async () => {
  const { of, shed } = senders()
  // At 8 ns a byte this is 500 ms of the event loop.
  of('hostile').chargeDropped(62_500_000)
  await expect(of('hostile').waitForShare()).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    details: { type: 'requests', retryAfterMs: expect.any(Number) },
  })
  expect(shed).toEqual(['sender_full'])
  await of('neighbour').chargeOwnResponse()
})

test('the time that spares a thread makes no request wait, unless its own is refused', () => {
  const { of } = senders()
  const work = () => {
    const untilMs = performance.now() + 2 * MOMENT_MS
    while (performance.now() < untilMs);
  }
  const [served, refused] = [of('team'), of('hostile')]
  for (const request of [served, refused]) {
    expect(request.workInsteadOfThread(request.sender)).toBe(true)
    request.measure(work)
  }
  refused.chargeRefusal()
  expect(served.isOverShare()).toBe(false)
  expect(refused.isOverShare()).toBe(true)
  expect(of('team').workInsteadOfThread('team')).toBe(false)
  expect(of('neighbour').workInsteadOfThread('neighbour')).toBe(true)
})
