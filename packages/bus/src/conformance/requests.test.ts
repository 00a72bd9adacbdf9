import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CountedBus } from '../bus.ts'
import { BusTimeoutError, NoResponderError, RemoteError } from '../port.ts'
import { adapters, type World } from './adapters.ts'
import { read, sleep, text, until } from './answers.ts'

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

  it('brings each asker the reply to its own question', async () => {
    await using _ = await server.serve('echo', 'servers', async (payload) => {
      await sleep(Math.random() * 10)
      return text(`re: ${read(payload)}`)
    })
    const questions = Array.from({ length: 200 }, (_, i) => `question ${i}`)
    const replies = await Promise.all(questions.map((q) => requester.request('echo', text(q), { timeoutMs: 60_000 })))
    expect(replies.map(read)).toEqual(questions.map((q) => `re: ${q}`))
  })

  it('gives each question to one member of the group', async () => {
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

  it('ends a question whose answer does not come in time', async () => {
    await using _ = await server.serve('slow', 'servers', () => new Promise<never>(() => {}))
    await expect(requester.request('slow', text('?'), { timeoutMs: 50 })).rejects.toBeInstanceOf(BusTimeoutError)
  })

  it("tells the asker of the server's error", async () => {
    await using _ = await server.serve('broken', 'servers', () => Promise.reject(new Error('out of ink')))
    const reply = requester.request('broken', text('?'), { timeoutMs: 60_000 })
    await expect(reply).rejects.toBeInstanceOf(RemoteError)
    await expect(reply).rejects.toThrow('out of ink')
  })

  it('waits for a server that is away for a moment, for as long as the asker is patient', async () => {
    const timeoutPolicy = { timeoutMs: 10_000, absentForMs: 10_000 }
    const replies = ['a', 'b'].map((name) => requester.request('restarted', text(name), timeoutPolicy))
    await expect(requester.request('restarted', text('c'), { timeoutMs: 10_000 })).rejects.toBeInstanceOf(
      NoResponderError,
    )
    const heard: string[] = []
    await using _ = await server.serve('restarted', 'servers', async (payload) => {
      heard.push(read(payload))
      return payload
    })
    expect((await Promise.all(replies)).map(read)).toEqual(['a', 'b'])
    expect(heard.toSorted()).toEqual(['a', 'b'])
  })

  it('says that nobody serves a subject when the patience for that is over', async () => {
    const asking = requester.request('nobody', text('?'), { timeoutMs: 10_000, absentForMs: 200 })
    await expect(asking).rejects.toBeInstanceOf(NoResponderError)
  })

  it('ends a question in its time, however patient its asker is', async () => {
    const asking = requester.request('nobody', text('?'), { timeoutMs: 200, absentForMs: 10_000 })
    await expect(asking).rejects.toBeInstanceOf(BusTimeoutError)
  })

  it('asks again after an answer that failed only where the asker says so', async () => {
    let asked = 0
    await using _ = await server.serve('forgetful', 'servers', async (payload) => {
      if (++asked < 3) throw new Error('one moment')
      return payload
    })
    await expect(requester.request('forgetful', text('once'), { timeoutMs: 10_000 })).rejects.toThrow('one moment')
    expect(asked).toBe(1)
    const timeoutPolicy = { timeoutMs: 10_000, failingForMs: 10_000 }
    expect(read(await requester.request('forgetful', text('again'), timeoutPolicy))).toBe('again')
    expect(asked).toBe(3)
  })

  it("tells the asker of the server's last error when the patience for that is over", async () => {
    await using _ = await server.serve('broken', 'servers', () => Promise.reject(new Error('out of ink')))
    const asking = requester.request('broken', text('?'), { timeoutMs: 10_000, failingForMs: 200 })
    await expect(asking).rejects.toThrow('out of ink')
  })

  it('asks again into silence only where the asker says so, and takes the first answer', async () => {
    const heard: string[] = []
    await using _ = await server.serve('frozen', 'servers', async (payload) => {
      heard.push(read(payload))
      // Whom the queue picked first never answers.
      return heard.length === 1 ? new Promise<never>(() => {}) : payload
    })
    const timeoutPolicy = { timeoutMs: 10_000, silentForMs: 50 }
    expect(read(await requester.request('frozen', text('again'), timeoutPolicy))).toBe('again')
    expect(heard).toEqual(['again', 'again'])
    heard.length = 0
    await expect(requester.request('frozen', text('once'), { timeoutMs: 300 })).rejects.toBeInstanceOf(BusTimeoutError)
    expect(heard).toEqual(['once'])
  })

  it('sees the question as it was when it was put', async () => {
    await using _ = await server.serve('mirror', 'servers', async (payload) => payload)
    const question = Buffer.from('before')
    const reply = requester.request('mirror', question, { timeoutMs: 60_000 })
    question.write('AFTER!')
    expect(read(await reply)).toBe('before')
  })

  it('tells every listener of a broadcast, and the sender too', async () => {
    const heard: string[] = []
    await using _a = await server.listen('news', (payload) => void heard.push(`server ${read(payload)}`))
    await using _b = await requester.listen('news', (payload) => void heard.push(`asker ${read(payload)}`))
    requester.broadcast('news', text('hello'))
    await until(() => heard.length === 2)
    expect(heard.toSorted()).toEqual(['asker hello', 'server hello'])
  })
})
