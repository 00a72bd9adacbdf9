import { encodeJson } from '@gateway/bus/json'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { groups, subjects } from '@gateway/contracts/subjects'
import { afterEach, expect, test, vi } from 'vitest'
import { createKeysClient } from './keys.ts'
import { createMeteringClient } from './metering.ts'

let opened = new AsyncDisposableStack()
afterEach(async () => {
  await opened.disposeAsync()
  opened = new AsyncDisposableStack()
})

/** A service that answers this question, and the bus of an edge. */
async function answering(subject: string, reply: () => object) {
  const hub = createMemoryHub()
  const service = opened.use(await openMemoryBus({ hub }))
  const answer = vi.fn<() => Promise<Uint8Array>>(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return encodeJson(reply())
  })
  opened.use(await service.serve(subject, groups.keys, answer))
  return { answer, bus: opened.use(await openMemoryBus({ hub })) }
}

const many = <Answer>(ask: () => Promise<Answer>) => Promise.all(Array.from({ length: 1_000 }, ask))

test('1,000 requests of an account that the store does not know have it filled once', async () => {
  const { bus, answer } = await answering(subjects.keysFill, () => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  const replies = await many(() => keys.fill({ account: 'Tag12345', keyHash: 'hash' }))
  expect(replies).toHaveLength(1_000)
  expect(answer).toHaveBeenCalledTimes(1)
  await keys.fill({ account: 'Tag12345', keyHash: 'hash' })
  expect(answer).toHaveBeenCalledTimes(2)
})

test('another key of the account, and another account, are asked for by themselves', async () => {
  const { bus, answer } = await answering(subjects.keysFill, () => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  await Promise.all([
    keys.fill({ account: 'Tag12345', keyHash: 'hash' }),
    keys.fill({ account: 'Tag12345', keyHash: 'other' }),
    keys.fill({ account: 'Tag67890', keyHash: 'hash' }),
  ])
  expect(answer).toHaveBeenCalledTimes(3)
})

test('1,000 requests of an account whose total the store does not know have it warmed once', async () => {
  const { bus, answer } = await answering(subjects.meteringWarm, () => ({ kind: 'warmed' }))
  const metering = createMeteringClient(bus)
  await many(() => metering.warm('Tag12345'))
  expect(answer).toHaveBeenCalledTimes(1)
})

test('a call that failed is not remembered', async () => {
  let isBroken = true
  const { bus, answer } = await answering(subjects.meteringWarm, () => {
    if (isBroken) throw new Error('broken')
    return { kind: 'warmed' }
  })
  const metering = createMeteringClient(bus)
  const outcomes = await Promise.allSettled([metering.warm('Tag12345'), metering.warm('Tag12345')])
  expect(outcomes).toMatchObject([1, 2].map(() => ({ reason: { code: 'SERVICE_UNAVAILABLE' } })))
  const asked = answer.mock.calls.length
  isBroken = false
  await metering.warm('Tag12345')
  expect(answer).toHaveBeenCalledTimes(asked + 1)
})

test('a caller that joined a call near its end has a time of its own when that call fails', async () => {
  const brokenUntilMs = performance.now() + 2_100
  const { bus } = await answering(subjects.meteringWarm, () => {
    if (performance.now() < brokenUntilMs) throw new Error('broken')
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
  const { bus, answer } = await answering(subjects.keysLookUp, () => ({ kind: 'dead' }))
  const keys = createKeysClient(bus)
  await Promise.all([1, 2, 3].map(() => keys.lookUp({ account: 'Tag12345', keyHash: 'hash' })))
  expect(answer).toHaveBeenCalledTimes(3)
})
