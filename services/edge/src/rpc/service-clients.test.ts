import { encodeJson } from '@gateway/rpc/json'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { groups, subjects } from '@gateway/contracts/subjects'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { FindSessionReply } from '@gateway/contracts/developer-keys-api'
import { requestsOn, createKeysClient, createMeteringClient, endsKey } from './service-clients.ts'

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
    const asking = requestsOn(edge)('keysMint')(OWNER)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const asked = await serve(subjects.keysMint, MINTED)
    expect(await asking).toEqual(MINTED)
    expect(asked.times).toBe(1)
  })

  test('that may be answered twice is asked again where the service failed, for it may just be finding its store', async () => {
    const asked = await serve(subjects.keysFindAccount, NOBODY, 2)
    expect(await requestsOn(edge)('keysFindAccount')(OWNER)).toEqual(NOBODY)
    expect(asked.times).toBe(3)
  })

  test('that may be answered twice reaches another process of the service while one is frozen', async () => {
    let asked = 0
    for (let processes = 0; processes < 2; processes++) {
      const answer = async () => (asked++ === 0 ? new Promise<never>(() => {}) : encodeJson(NOBODY))
      opened.use(await service.serve(subjects.keysFindAccount, groups.keys, answer))
    }
    expect(await requestsOn(edge)('keysFindAccount')(OWNER)).toEqual(NOBODY)
    expect(asked).toBe(2)
  })

  test('that changes something is asked once where the service failed', async () => {
    const asked = await serve(subjects.keysMint, MINTED, 1)
    await expect(requestsOn(edge)('keysMint')(OWNER)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(asked.times).toBe(1)
  })

  test('that goes on failing ends in a 503', async () => {
    await serve(subjects.keysFindAccount, NOBODY, Infinity)
    const asking = requestsOn(edge)('keysFindAccount')(OWNER)
    await expect(asking).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { name: 'RemoteError' } })
  })

  test('that nobody answers ends in a 503', async () => {
    const asking = requestsOn(edge)('keysFindAccount')(OWNER)
    await expect(asking).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  test('whose answer has not the shape of the contract ends in a 503', async () => {
    await serve(subjects.keysMint, { kind: 'minted' })
    await expect(requestsOn(edge)('keysMint')(OWNER)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })
})

const KEY = { ...OWNER, keyHash: 'hash-of-it' }
const found = (ticket?: string): FindSessionReply => {
  return { kind: 'found', account: 'acct0001', keyId: 'key00001', keyHash: KEY.keyHash, plan: 'free', ticket }
}

/** A keys service that gives these tickets and takes the last one; and what it was asked. */
function ending(...tickets: (FindSessionReply | 'fails')[]) {
  const asked: object[] = []
  const session = async (question: object) => {
    asked.push(question)
    const reply = tickets.shift()
    if (!reply || reply === 'fails') throw new Error('no answer')
    return reply
  }
  const end = async (question: object) => {
    asked.push(question)
    return tickets.length === 0 ? { kind: 'revoked' } : { kind: 'invalid', isLate: true }
  }
  return { asked, revoke: endsKey(session, end) }
}

test('a key is ended under a ticket', async () => {
  const { asked, revoke } = ending(found('ticket-1'))
  expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
  expect(asked).toEqual([
    { owner: KEY.owner, toEnd: KEY.keyHash },
    { ...KEY, ticket: 'ticket-1' },
  ])
})

test('a ticket that a mint has voided is replaced while the client waits', async () => {
  const { asked, revoke } = ending(found('ticket-1'), found('ticket-2'))
  expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
  expect(asked.at(-1)).toEqual({ ...KEY, ticket: 'ticket-2' })
})

test('mints without end make it a 503', async () => {
  const { revoke } = ending(...Array.from({ length: 50 }, () => found('ticket')))
  await expect(revoke(KEY)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('without an answer about the ticket nothing is sent that could end the key', async () => {
  const { asked, revoke } = ending('fails')
  await expect(revoke(KEY)).rejects.toThrow('no answer')
  expect(asked).toHaveLength(1)
})

test('a key that is dead, or a former keys service, needs no ticket', async () => {
  for (const session of [{ kind: 'none' } as const, found()]) {
    const { asked, revoke } = ending(session)
    expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
    expect(asked.at(-1)).toEqual(KEY)
  }
})

/** A service that answers this question, and the bus of an edge. */
async function responding(subject: string, reply: () => object) {
  const answer = vi.fn<() => Promise<Uint8Array>>(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return encodeJson(reply())
  })
  opened.use(await service.serve(subject, groups.keys, answer))
  return { answer, bus: edge }
}

const many = <Answer>(ask: () => Promise<Answer>) => Promise.all(Array.from({ length: 1_000 }, ask))

test('1,000 requests of an account that the store does not know have it filled once', async () => {
  const { bus, answer } = await responding(subjects.keysFill, () => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  const replies = await many(() => keys.fill({ account: 'Tag12345', keyHash: 'hash' }))
  expect(replies).toHaveLength(1_000)
  expect(answer).toHaveBeenCalledTimes(1)
  await keys.fill({ account: 'Tag12345', keyHash: 'hash' })
  expect(answer).toHaveBeenCalledTimes(2)
})

test('another key of the account, and another account, are asked for by themselves', async () => {
  const { bus, answer } = await responding(subjects.keysFill, () => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  await Promise.all([
    keys.fill({ account: 'Tag12345', keyHash: 'hash' }),
    keys.fill({ account: 'Tag12345', keyHash: 'other' }),
    keys.fill({ account: 'Tag67890', keyHash: 'hash' }),
  ])
  expect(answer).toHaveBeenCalledTimes(3)
})

test('1,000 requests of an account whose total the store does not know have it warmed once', async () => {
  const { bus, answer } = await responding(subjects.meteringWarm, () => ({ kind: 'warmed' }))
  const metering = createMeteringClient(bus)
  await many(() => metering.warm('Tag12345'))
  expect(answer).toHaveBeenCalledTimes(1)
})

test('a call that failed is not remembered', async () => {
  let isBroken = true
  const { bus, answer } = await responding(subjects.meteringWarm, () => {
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

test('callers that joined a call have a time of their own when that call fails', async () => {
  let isBroken = true
  const { bus } = await responding(subjects.meteringWarm, () => {
    if (isBroken) throw new Error('broken')
    return { kind: 'warmed' }
  })
  const metering = createMeteringClient(bus)
  const first = metering.warm('Tag12345').finally(() => (isBroken = false))
  const joined = many(() => metering.warm('Tag12345'))
  await expect(first).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(await joined).toHaveLength(1_000)
})

test('whether a key is alive while the store is away is asked anew by each request: a revoke holds at once', async () => {
  const { bus, answer } = await responding(subjects.keysLookUp, () => ({ kind: 'dead' }))
  const keys = createKeysClient(bus)
  await Promise.all([1, 2, 3].map(() => keys.lookUp({ account: 'Tag12345', keyHash: 'hash' })))
  expect(answer).toHaveBeenCalledTimes(3)
})
