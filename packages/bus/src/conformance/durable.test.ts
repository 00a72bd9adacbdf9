import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CountedBus } from '../bus.ts'
import { NotStoredError, type DurableMessage } from '../port.ts'
import { adapters, type World } from './adapters.ts'
import { read, sleep, text, until } from './recorded-responses.ts'

describe.each(adapters)('durable events on $name', ({ name, createWorld }) => {
  let world: World
  let publisher: CountedBus
  beforeEach(async () => {
    world = await createWorld()
    publisher = await world.open()
  })
  afterEach(() => world[Symbol.asyncDispose]())

  const consume = (bus: CountedBus, handler: (batch: DurableMessage[]) => Promise<void>, maxBatch = 50) =>
    bus.durable.consume({ stream: 'EVENTS', subject: 'events.>', consumer: 'ledger', maxBatch, handler })
  const publish = (event: string) => publisher.durable.publish('events.usage', text(event), { timeoutMs: 5_000 })

  it('brings every event to the consumer, in batches', async () => {
    const seen: string[] = []
    let batches = 0
    await using _ = await consume(await world.open(), async (batch) => {
      batches++
      seen.push(...batch.map(({ payload }) => read(payload)))
    })
    const events = Array.from({ length: 500 }, (_, i) => `event ${i}`)
    await Promise.all(events.map(publish))
    await until(() => seen.length >= 500)
    expect(seen).toEqual(events)
    expect(batches).toBeLessThan(100)
    expect(publisher.durable.isHealthy()).toBe(true)
  })

  it('keeps events that were published before the consumer came', async () => {
    const published = Promise.all(['early', 'bird'].map(publish))
    await sleep(100)
    const seen: string[] = []
    await using _ = await consume(await world.open(), async (batch) => {
      seen.push(...batch.map(({ payload }) => read(payload)))
    })
    await published
    await until(() => seen.length === 2)
    expect(seen).toEqual(['early', 'bird'])
  })

  it('brings a batch again after its handler threw', async () => {
    const seen: string[] = []
    let failures = 0
    await using _ = await consume(await world.open(), async (batch) => {
      if (failures++ < 2) throw new Error('database away')
      seen.push(...batch.map(({ payload, redelivered }) => `${read(payload)}${redelivered ? ' again' : ''}`))
    })
    await publish('persistent')
    await until(() => seen.length === 1)
    expect(seen).toEqual(['persistent again'])
  })

  it('shares a consumer between its members', async () => {
    const seen: string[][] = [[], []]
    const members = await Promise.all([world.open(), world.open()])
    for (const [i, member] of members.entries()) {
      await consume(
        member,
        async (batch) => {
          await sleep(5)
          seen[i]!.push(...batch.map(({ payload }) => read(payload)))
        },
        10,
      )
    }
    const events = Array.from({ length: 400 }, (_, i) => `${i}`)
    await Promise.all(events.map(publish))
    await until(() => seen[0]!.length + seen[1]!.length >= 400)
    expect(seen.flat().toSorted()).toEqual(events.toSorted())
    expect(Math.min(seen[0]!.length, seen[1]!.length)).toBeGreaterThan(50)
  })

  it('brings events in order to members that take them one at a time, also after one has failed', async () => {
    const seen: string[] = []
    const failed = new Set<string>()
    let running = 0
    for (const member of await Promise.all([world.open(), world.open()])) {
      await member.durable.consume({
        ...{ stream: 'EVENTS', subject: 'events.>', consumer: 'ledger', maxBatch: 50, inOrder: true },
        async handler(batch) {
          expect(++running).toBe(1)
          await sleep(2)
          running--
          const events = batch.map(({ payload }) => read(payload))
          const [event = ''] = events
          if (Number(event) % 7 === 0 && !failed.has(event)) {
            failed.add(event)
            throw new Error('database away')
          }
          seen.push(...events)
        },
      })
    }
    const events = Array.from({ length: 30 }, (_, i) => `${i}`)
    await Promise.all(events.map(publish))
    await until(() => seen.length >= events.length)
    expect(seen).toEqual(events)
    expect(failed.size).toBe(5)
  })

  it('gives the open events of a leaving member to the others', async () => {
    const seen: string[] = []
    const third = Promise.withResolvers<void>()
    const leaving = Promise.withResolvers<void>()
    const leaver = await consume(
      await world.open(),
      async (batch) => {
        if (seen.length === 2) {
          third.resolve()
          await leaving.promise
        }
        seen.push(...batch.map(({ payload }) => read(payload)))
      },
      1,
    )
    void Array.from({ length: 20 }, (_, i) => publish(`${i}`).catch(() => {}))
    await third.promise
    const left = leaver[Symbol.asyncDispose]()
    leaving.resolve()
    await left
    expect(seen).toHaveLength(3)
    await using _ = await consume(await world.open(), async (batch) => {
      seen.push(...batch.map(({ payload }) => read(payload)))
    })
    await until(() => new Set(seen).size === 20)
    expect(seen.slice(0, 2)).toEqual(['0', '1'])
  })

  it('refuses events that no stream takes', async () => {
    await expect(publisher.durable.publish('elsewhere', text('?'), { timeoutMs: 1_000 })).rejects.toBeInstanceOf(
      NotStoredError,
    )
  })

  it('turns unhealthy while events stay unacknowledged, and healthy again', async () => {
    if (name === 'nats') return (world.kill(publisher), await expectsUnhealthy())
    await expectsUnhealthy()
    await using _ = await consume(await world.open(), async () => {})
    await until(() => publisher.durable.isHealthy())

    async function expectsUnhealthy() {
      await expect(publisher.durable.publish('events.usage', text('?'), { timeoutMs: 50 })).rejects.toBeInstanceOf(
        NotStoredError,
      )
      expect(publisher.durable.isHealthy()).toBe(true)
      await until(() => !publisher.durable.isHealthy())
    }
  })
})
