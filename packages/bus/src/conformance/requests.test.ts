import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CountedBus } from '../bus.ts'
import { BusTimeoutError, NoResponderError, RemoteError } from '../port.ts'
import { adapters, type World } from './adapters.ts'
import { read, sleep, text, until } from './recorded-responses.ts'

describe.each(adapters)('requests on $name', ({ createWorld }) => {
  let world: World
  let requester: CountedBus
  let server: CountedBus
  beforeAll(async () => {
    world = await createWorld()
    requester = await world.open()
    server = await world.open()
  })
  afterAll(() => world[Symbol.asyncDispose]())

  it('brings each requester the reply to its own request', async () => {
    await using _ = await server.serve('echo', 'servers', async (payload) => {
      await sleep(Math.random() * 10)
      return text(`re: ${read(payload)}`)
    })
    const payloads = Array.from({ length: 200 }, (_, i) => `request ${i}`)
    const replies = await Promise.all(payloads.map((q) => requester.request('echo', text(q), { timeoutMs: 60_000 })))
    expect(replies.map(read)).toEqual(payloads.map((q) => `re: ${q}`))
  })

  it('gives each request to one member of the group', async () => {
    let first = 0
    let second = 0
    await using _a = await server.serve('shared', 'servers', async () => text(`${++first}`))
    await using _b = await requester.serve('shared', 'servers', async () => text(`${++second}`))
    await Promise.all(Array.from({ length: 100 }, () => requester.request('shared', text(''), { timeoutMs: 60_000 })))
    expect(first + second).toBe(100)
    expect(Math.min(first, second)).toBeGreaterThan(10)
  })

  it('says at once that nobody serves a subject', async () => {
    const startedAtMs = performance.now()
    await expect(requester.request('nobody', text('?'), { timeoutMs: 60_000 })).rejects.toBeInstanceOf(NoResponderError)
    expect(performance.now() - startedAtMs).toBeLessThan(30_000)
  })

  it('no longer serves once disposed', async () => {
    const service = await server.serve('gone', 'servers', async (payload) => payload)
    await requester.request('gone', text('?'), { timeoutMs: 60_000 })
    await service[Symbol.asyncDispose]()
    await expect(requester.request('gone', text('?'), { timeoutMs: 60_000 })).rejects.toBeInstanceOf(NoResponderError)
  })

  it('ends a request whose reply does not come in time', async () => {
    await using _ = await server.serve('slow', 'servers', () => new Promise<never>(() => {}))
    await expect(requester.request('slow', text('?'), { timeoutMs: 50 })).rejects.toBeInstanceOf(BusTimeoutError)
  })

  it("returns the server's error", async () => {
    await using _ = await server.serve('broken', 'servers', () => Promise.reject(new Error('out of ink')))
    const reply = requester.request('broken', text('?'), { timeoutMs: 60_000 })
    await expect(reply).rejects.toBeInstanceOf(RemoteError)
    await expect(reply).rejects.toThrow('out of ink')
  })

  it('waits for a server that is away for a moment, for as long as the requester allows', async () => {
    const timeoutPolicy = { timeoutMs: 10_000, absentForMs: 10_000 }
    const replies = ['a', 'b'].map((name) => requester.request('restarted', text(name), timeoutPolicy))
    await expect(requester.request('restarted', text('c'), { timeoutMs: 10_000 })).rejects.toBeInstanceOf(
      NoResponderError,
    )
    const received: string[] = []
    await using _ = await server.serve('restarted', 'servers', async (payload) => {
      received.push(read(payload))
      return payload
    })
    expect((await Promise.all(replies)).map(read)).toEqual(['a', 'b'])
    expect(received.toSorted()).toEqual(['a', 'b'])
  })

  it('says that nobody serves a subject when the time for that is over', async () => {
    const requesting = requester.request('nobody', text('?'), { timeoutMs: 10_000, absentForMs: 200 })
    await expect(requesting).rejects.toBeInstanceOf(NoResponderError)
  })

  it('ends a request in its time, however long its requester lets a server be away', async () => {
    const requesting = requester.request('nobody', text('?'), { timeoutMs: 200, absentForMs: 10_000 })
    await expect(requesting).rejects.toBeInstanceOf(BusTimeoutError)
  })

  it('repeats a request after a failed reply only where the requester allows it', async () => {
    let served = 0
    await using _ = await server.serve('forgetful', 'servers', async (payload) => {
      if (++served < 3) throw new Error('one moment')
      return payload
    })
    await expect(requester.request('forgetful', text('once'), { timeoutMs: 10_000 })).rejects.toThrow('one moment')
    expect(served).toBe(1)
    const timeoutPolicy = { timeoutMs: 10_000, failingForMs: 10_000 }
    expect(read(await requester.request('forgetful', text('again'), timeoutPolicy))).toBe('again')
    expect(served).toBe(3)
  })

  it("returns the server's last error when the time for repeats is over", async () => {
    await using _ = await server.serve('broken', 'servers', () => Promise.reject(new Error('out of ink')))
    const requesting = requester.request('broken', text('?'), { timeoutMs: 10_000, failingForMs: 200 })
    await expect(requesting).rejects.toThrow('out of ink')
  })

  it('repeats a request into silence only where the requester allows it, and takes the first reply', async () => {
    const received: string[] = []
    await using _ = await server.serve('frozen', 'servers', async (payload) => {
      received.push(read(payload))
      // The server that the queue picks first never replies.
      return received.length === 1 ? new Promise<never>(() => {}) : payload
    })
    const timeoutPolicy = { timeoutMs: 10_000, silentForMs: 50 }
    expect(read(await requester.request('frozen', text('again'), timeoutPolicy))).toBe('again')
    expect(received).toEqual(['again', 'again'])
    received.length = 0
    await expect(requester.request('frozen', text('once'), { timeoutMs: 300 })).rejects.toBeInstanceOf(BusTimeoutError)
    expect(received).toEqual(['once'])
  })

  it('brings the server the payload as it was when it was sent', async () => {
    await using _ = await server.serve('mirror', 'servers', async (payload) => payload)
    const payload = Buffer.from('before')
    const reply = requester.request('mirror', payload, { timeoutMs: 60_000 })
    payload.write('AFTER!')
    expect(read(await reply)).toBe('before')
  })

  it('brings a broadcast to every listener, and to the sender too', async () => {
    const received: string[] = []
    await using _a = await server.listen('news', (payload) => void received.push(`server ${read(payload)}`))
    await using _b = await requester.listen('news', (payload) => void received.push(`requester ${read(payload)}`))
    requester.broadcast('news', text('hello'))
    await until(() => received.length === 2)
    expect(received.toSorted()).toEqual(['requester hello', 'server hello'])
  })
})
