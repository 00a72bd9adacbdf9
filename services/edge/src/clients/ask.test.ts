import { encodeJson } from '@gateway/bus/json'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { groups, subjects } from '@gateway/contracts/subjects'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asksOn } from './ask.ts'

let opened: AsyncDisposableStack
let edge: Bus
let service: Bus
beforeEach(async () => {
  opened = new AsyncDisposableStack()
  const hub = createMemoryHub()
  edge = opened.use(await openMemoryBus({ hub }))
  service = opened.use(await openMemoryBus({ hub }))
})
afterEach(() => opened.disposeAsync())

const OWNER = { owner: { issuer: 'https://id.example', subject: 'alice' } }
const NOBODY = { kind: 'none' }
const MINTED = { kind: 'minted', key: 'svc_1', plan: 'free' }

/** A keys service that fails so many times, and then gives the reply; counts what it was asked. */
async function serve(subject: string, reply: object, failures = 0): Promise<{ times: number }> {
  const asked = { times: 0 }
  const answer = async () => {
    if (asked.times++ < failures) throw new Error('the store is away')
    return encodeJson(reply)
  }
  opened.use(await service.serve(subject, groups.keys, answer))
  return asked
}

describe('a question to another service', () => {
  test('waits while nobody answers, so that a restart is not noticed', async () => {
    const asking = asksOn(edge)('keysMint')(OWNER)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const asked = await serve(subjects.keysMint, MINTED)
    expect(await asking).toEqual(MINTED)
    expect(asked.times).toBe(1)
  })

  test('that may be answered twice is asked again where the service failed, for it may just be finding its store', async () => {
    const asked = await serve(subjects.keysFindAccount, NOBODY, 2)
    expect(await asksOn(edge)('keysFindAccount')(OWNER)).toEqual(NOBODY)
    expect(asked.times).toBe(3)
  })

  test('that may be answered twice reaches another process of the service while one is frozen', async () => {
    let asked = 0
    for (let processes = 0; processes < 2; processes++) {
      const answer = async () => (asked++ === 0 ? new Promise<never>(() => {}) : encodeJson(NOBODY))
      opened.use(await service.serve(subjects.keysFindAccount, groups.keys, answer))
    }
    expect(await asksOn(edge)('keysFindAccount')(OWNER)).toEqual(NOBODY)
    expect(asked).toBe(2)
  })

  test('that changes something is asked once where the service failed', async () => {
    const asked = await serve(subjects.keysMint, MINTED, 1)
    await expect(asksOn(edge)('keysMint')(OWNER)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(asked.times).toBe(1)
  })

  test('that goes on failing ends in a 503', async () => {
    await serve(subjects.keysFindAccount, NOBODY, Infinity)
    const asking = asksOn(edge)('keysFindAccount')(OWNER)
    await expect(asking).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { name: 'RemoteError' } })
  })

  test('that nobody answers ends in a 503', async () => {
    const asking = asksOn(edge)('keysFindAccount')(OWNER)
    await expect(asking).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  }, 10_000)

  test('whose answer has not the shape of the contract ends in a 503', async () => {
    await serve(subjects.keysMint, { kind: 'minted' })
    await expect(asksOn(edge)('keysMint')(OWNER)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })
})
