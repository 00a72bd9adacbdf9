import type { Bus } from '@gateway/bus/port'
import { RemoteError } from '@gateway/bus/port'
import { subjects } from '@gateway/contracts/subjects'
import { expect, test, vi } from 'vitest'
import { createKeysClient } from './keys.ts'
import { createMeteringClient } from './metering.ts'

function answering(reply: () => object) {
  const request = vi.fn<Bus['request']>(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return Buffer.from(JSON.stringify(reply()))
  })
  return { request, bus: { request } as unknown as Bus }
}

const many = <Answer>(ask: () => Promise<Answer>) => Promise.all(Array.from({ length: 1_000 }, ask))

test('1,000 requests of an account that the store does not know have it filled once', async () => {
  const { bus, request } = answering(() => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  const replies = await many(() => keys.fill({ account: 'Tag12345', keyHash: 'hash' }))
  expect(replies).toHaveLength(1_000)
  expect(request).toHaveBeenCalledTimes(1)
  await keys.fill({ account: 'Tag12345', keyHash: 'hash' })
  expect(request).toHaveBeenCalledTimes(2)
})

test('another key of the account, and another account, are asked for by themselves', async () => {
  const { bus, request } = answering(() => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  await Promise.all([
    keys.fill({ account: 'Tag12345', keyHash: 'hash' }),
    keys.fill({ account: 'Tag12345', keyHash: 'other' }),
    keys.fill({ account: 'Tag67890', keyHash: 'hash' }),
  ])
  expect(request).toHaveBeenCalledTimes(3)
})

test('1,000 requests of an account whose total the store does not know have it warmed once', async () => {
  const { bus, request } = answering(() => ({ kind: 'warmed' }))
  const metering = createMeteringClient(bus)
  await many(() => metering.warm('Tag12345'))
  expect(request.mock.calls.map(([subject]) => subject)).toEqual([subjects.meteringWarm])
})

test('a call that failed is not remembered', async () => {
  let isBroken = true
  const { bus, request } = answering(() => {
    if (isBroken) throw new RemoteError('broken')
    return { kind: 'warmed' }
  })
  const metering = createMeteringClient(bus)
  const outcomes = await Promise.allSettled([metering.warm('Tag12345'), metering.warm('Tag12345')])
  expect(outcomes).toMatchObject([1, 2].map(() => ({ reason: { code: 'SERVICE_UNAVAILABLE' } })))
  const asked = request.mock.calls.length
  isBroken = false
  await metering.warm('Tag12345')
  expect(request).toHaveBeenCalledTimes(asked + 1)
})

test('a caller that joined a call near its end has a time of its own when that call fails', async () => {
  const brokenUntilMs = performance.now() + 2_100
  const { bus } = answering(() => {
    if (performance.now() < brokenUntilMs) throw new RemoteError('broken')
    return { kind: 'warmed' }
  })
  const metering = createMeteringClient(bus)
  const first = metering.warm('Tag12345')
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  const late = many(() => metering.warm('Tag12345'))
  await expect(first).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(await late).toHaveLength(1_000)
})

test('whether a key is alive while the store is away is asked anew by each request: a revoke holds at once', async () => {
  const { bus, request } = answering(() => ({ kind: 'dead' }))
  const keys = createKeysClient(bus)
  await Promise.all([1, 2, 3].map(() => keys.lookUp({ account: 'Tag12345', keyHash: 'hash' })))
  expect(request).toHaveBeenCalledTimes(3)
})
