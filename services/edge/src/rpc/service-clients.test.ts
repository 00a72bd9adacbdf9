import { encodeJson } from '@gateway/rpc/json'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { groups, subjects } from '@gateway/contracts/subjects'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { FindSessionReply } from '@gateway/contracts/developer-keys-api'
import { callsOn, createKeysClient, createMeteringClient, endsKey } from './service-clients.ts'

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

/** A keys service that fails so many times, and then gives the reply; counts its calls. */
async function serve(subject: string, reply: object, failures = 0): Promise<{ times: number }> {
  const calls = { times: 0 }
  const handler = async () => {
    if (calls.times++ < failures) throw new Error('the store is away')
    return encodeJson(reply)
  }
  opened.use(await service.serve(subject, groups.keys, handler))
  return calls
}

describe('a question to another service', () => {
  test('waits while nobody responds, so that a restart is not noticed', async () => {
    const calling = callsOn(edge)('keysMint')(OWNER)
    await new Promise((resolve) => setTimeout(resolve, 300))
    const calls = await serve(subjects.keysMint, MINTED)
    expect(await calling).toEqual(MINTED)
    expect(calls.times).toBe(1)
  })

  test('that is repeatable is sent again where the service failed, for it may just be finding its store', async () => {
    const calls = await serve(subjects.keysFindAccount, NOBODY, 2)
    expect(await callsOn(edge)('keysFindAccount')(OWNER)).toEqual(NOBODY)
    expect(calls.times).toBe(3)
  })

  test('that is repeatable reaches another process of the service while one is frozen', async () => {
    let calls = 0
    for (let processes = 0; processes < 2; processes++) {
      const handler = async () => (calls++ === 0 ? new Promise<never>(() => {}) : encodeJson(NOBODY))
      opened.use(await service.serve(subjects.keysFindAccount, groups.keys, handler))
    }
    expect(await callsOn(edge)('keysFindAccount')(OWNER)).toEqual(NOBODY)
    expect(calls).toBe(2)
  })

  test('that changes something is sent once where the service failed', async () => {
    const calls = await serve(subjects.keysMint, MINTED, 1)
    await expect(callsOn(edge)('keysMint')(OWNER)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(calls.times).toBe(1)
  })

  test('that goes on failing ends in a 503', async () => {
    await serve(subjects.keysFindAccount, NOBODY, Infinity)
    const calling = callsOn(edge)('keysFindAccount')(OWNER)
    await expect(calling).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', cause: { name: 'RemoteError' } })
  })

  test('without a reply ends in a 503', async () => {
    const calling = callsOn(edge)('keysFindAccount')(OWNER)
    await expect(calling).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })

  test('whose reply has not the shape of the contract ends in a 503', async () => {
    await serve(subjects.keysMint, { kind: 'minted' })
    await expect(callsOn(edge)('keysMint')(OWNER)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  })
})

const KEY = { ...OWNER, keyHash: 'hash-of-it' }
const found = (ticket?: string): FindSessionReply => {
  return { kind: 'found', account: 'acct0001', keyId: 'key00001', keyHash: KEY.keyHash, plan: 'free', ticket }
}

/** A keys service that gives these tickets and takes the last one; and its calls. */
function ending(...tickets: (FindSessionReply | 'fails')[]) {
  const calls: object[] = []
  const session = async (question: object) => {
    calls.push(question)
    const reply = tickets.shift()
    if (!reply || reply === 'fails') throw new Error('no answer')
    return reply
  }
  const end = async (question: object) => {
    calls.push(question)
    return tickets.length === 0 ? { kind: 'revoked' } : { kind: 'invalid', isLate: true }
  }
  return { calls, revoke: endsKey(session, end) }
}

test('a key is ended under a ticket', async () => {
  const { calls, revoke } = ending(found('ticket-1'))
  expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
  expect(calls).toEqual([
    { owner: KEY.owner, toEnd: KEY.keyHash },
    { ...KEY, ticket: 'ticket-1' },
  ])
})

test('a ticket that a mint has voided is replaced while the client waits', async () => {
  const { calls, revoke } = ending(found('ticket-1'), found('ticket-2'))
  expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
  expect(calls.at(-1)).toEqual({ ...KEY, ticket: 'ticket-2' })
})

test('mints without end make it a 503', async () => {
  const { revoke } = ending(...Array.from({ length: 50 }, () => found('ticket')))
  await expect(revoke(KEY)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('without a reply about the ticket nothing is sent that could end the key', async () => {
  const { calls, revoke } = ending('fails')
  await expect(revoke(KEY)).rejects.toThrow('no answer')
  expect(calls).toHaveLength(1)
})

test('a key that is dead, or a former keys service, needs no ticket', async () => {
  for (const session of [{ kind: 'none' } as const, found()]) {
    const { calls, revoke } = ending(session)
    expect(await revoke(KEY)).toEqual({ kind: 'revoked' })
    expect(calls.at(-1)).toEqual(KEY)
  }
})

/** A service that serves this call, and the bus of an edge. */
async function serving(subject: string, reply: () => object) {
  const handler = vi.fn<() => Promise<Uint8Array>>(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return encodeJson(reply())
  })
  opened.use(await service.serve(subject, groups.keys, handler))
  return { handler, bus: edge }
}

const many = <Reply>(send: () => Promise<Reply>) => Promise.all(Array.from({ length: 1_000 }, send))

test('1,000 requests of an account that the store does not know have it filled once', async () => {
  const { bus, handler } = await serving(subjects.keysFill, () => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  const replies = await many(() => keys.fill({ account: 'Tag12345', keyHash: 'hash' }))
  expect(replies).toHaveLength(1_000)
  expect(handler).toHaveBeenCalledTimes(1)
  await keys.fill({ account: 'Tag12345', keyHash: 'hash' })
  expect(handler).toHaveBeenCalledTimes(2)
})

test('another key of the account, and another account, get their own calls', async () => {
  const { bus, handler } = await serving(subjects.keysFill, () => ({ kind: 'filled', plan: 'free' }))
  const keys = createKeysClient(bus)
  await Promise.all([
    keys.fill({ account: 'Tag12345', keyHash: 'hash' }),
    keys.fill({ account: 'Tag12345', keyHash: 'other' }),
    keys.fill({ account: 'Tag67890', keyHash: 'hash' }),
  ])
  expect(handler).toHaveBeenCalledTimes(3)
})

test('1,000 requests of an account whose total the store does not know have it warmed once', async () => {
  const { bus, handler } = await serving(subjects.meteringWarm, () => ({ kind: 'warmed' }))
  const metering = createMeteringClient(bus)
  await many(() => metering.warm('Tag12345'))
  expect(handler).toHaveBeenCalledTimes(1)
})

test('a call that failed is not remembered', async () => {
  let isBroken = true
  const { bus, handler } = await serving(subjects.meteringWarm, () => {
    if (isBroken) throw new Error('broken')
    return { kind: 'warmed' }
  })
  const metering = createMeteringClient(bus)
  const outcomes = await Promise.allSettled([metering.warm('Tag12345'), metering.warm('Tag12345')])
  expect(outcomes).toMatchObject([1, 2].map(() => ({ reason: { code: 'SERVICE_UNAVAILABLE' } })))
  const calls = handler.mock.calls.length
  isBroken = false
  await metering.warm('Tag12345')
  expect(handler).toHaveBeenCalledTimes(calls + 1)
})

test('callers that joined a call have a time of their own when that call fails', async () => {
  let isBroken = true
  const { bus } = await serving(subjects.meteringWarm, () => {
    if (isBroken) throw new Error('broken')
    return { kind: 'warmed' }
  })
  const metering = createMeteringClient(bus)
  const first = metering.warm('Tag12345').finally(() => (isBroken = false))
  const joined = many(() => metering.warm('Tag12345'))
  await expect(first).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
  expect(await joined).toHaveLength(1_000)
})

test("each request reads its key's state again while the store is away: a revoke holds at once", async () => {
  const { bus, handler } = await serving(subjects.keysLookUp, () => ({ kind: 'dead' }))
  const keys = createKeysClient(bus)
  await Promise.all([1, 2, 3].map(() => keys.lookUp({ account: 'Tag12345', keyHash: 'hash' })))
  expect(handler).toHaveBeenCalledTimes(3)
})
