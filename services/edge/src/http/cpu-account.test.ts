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

test('the time of a thread counts for a sender once its request is refused, and never otherwise', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ ms: fc.nat(2_000), isRefused: fc.boolean() }), { maxLength: 8 }), (requests) => {
      const { of } = senders()
      for (const { ms, isRefused } of requests) {
        const request = of('team')
        request.usedThread(ms)
        if (isRefused) request.chargeRefusal()
      }
      const refusedMs =
        requests.reduce((sum, { ms, isRefused }) => sum + (isRefused ? ms : 0), 0) / availableParallelism()
      const [owedMs, slackMs] = [of('team').msOverShare() * SHARE, 50]
      if (refusedMs > 150) expect(owedMs).toBeGreaterThan(Math.min(refusedMs, 1_000) - MOMENT_MS - slackMs)
      if (refusedMs < 30) expect(owedMs).toBe(0)
    }),
  )
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
