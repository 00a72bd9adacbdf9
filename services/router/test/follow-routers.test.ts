import { expect, test, vi } from 'vitest'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Share } from '../src/core/share-limit.ts'
import { followRouters } from '../src/follow-routers.ts'

test('routers share a limit as they come and go', async () => {
  const hub = createMemoryHub()
  const shares: Share[] = []
  const running = { gpu: 2 }
  const open = async (index: number) => {
    const bus = await openMemoryBus({ hub })
    return followRouters(bus, { onShare: (share) => (shares[index] = share), held: () => running })
  }
  const first = await open(0)
  const second = await open(1)
  await vi.waitFor(() => expect(shares.map(({ of }) => of)).toEqual([2, 2]), 5_000)
  expect(shares.map(({ index }) => index).sort((a, b) => a - b)).toEqual([0, 1])

  second.leave()
  await vi.waitFor(() => expect(shares[0]).toEqual({ index: 0, of: 1, held: { gpu: 2 } }))
  running.gpu = 0
  await second[Symbol.asyncDispose]()
  await vi.waitFor(() => expect(shares[0]).toEqual({ index: 0, of: 1, held: { gpu: 0 } }))
  await vi.waitFor(() => expect(shares[0]).toEqual({ index: 0, of: 1, held: {} }), 8_000)
  await first[Symbol.asyncDispose]()
})
