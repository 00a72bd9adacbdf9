import { expect, test } from 'vitest'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Share } from '../src/core/share-limit.ts'
import { followRouters } from '../src/follow-routers.ts'

test('routers share a limit as they come and go', async () => {
  const hub = createMemoryHub()
  const shares: Share[] = []
  const reported: Share[] = []
  const running = { gpu: 2 }
  const open = async (index: number) => {
    const bus = await openMemoryBus({ hub })
    const onShare = (share: Share): void => {
      shares[index] = share
      if (index === 0) reported.push(share)
    }
    return followRouters(bus, { onShare, held: () => running })
  }
  const first = await open(0)
  const second = await open(1)
  await expect.poll(() => shares.map(({ of }) => of)).toEqual([2, 2])
  expect(shares.map(({ index }) => index).sort((a, b) => a - b)).toEqual([0, 1])

  second.leave()
  await expect.poll(() => reported).toContainEqual({ index: 0, of: 1, held: { gpu: 2 } })
  running.gpu = 0
  await second[Symbol.asyncDispose]()
  await expect.poll(() => reported).toContainEqual({ index: 0, of: 1, held: { gpu: 0 } })
  await expect.poll(() => shares[0]).toEqual({ index: 0, of: 1, held: {} })
  await first[Symbol.asyncDispose]()
})
