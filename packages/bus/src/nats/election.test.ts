/**
 * A stream without a leader, as NATS' servers behave then: requests about the stream get no reply, and an event finds
 * no responder.
 */

import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { BusCounters, UNMEASURED } from '../counters.ts'
import type { Durable } from '../durable.ts'
import { openInbox } from '../inbox.ts'
import { openRequests } from '../requests.ts'
import type { WireListener } from '../wire.ts'
import { openJetStream } from './jetstream.ts'
import type { NatsWire } from './wire.ts'

/** A server calls for votes after that long without a leader. */
const ELECTION_MS = { min: 4_000, max: 9_000 }
const EVENT = Buffer.from('{}')
const NOTHING = Buffer.alloc(0)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Servers {
  durable: Durable
  stream: Stream
  connection(connected: boolean): void
}

interface Stream {
  /** The stream has a leader, a leader that is full, or none. */
  leader: 'taking' | 'full' | 'lost'
  /** The ids of the events that it holds. */
  stored: Set<string>
}

async function openServers(): Promise<Servers> {
  const stream: Stream = { leader: 'taking', stored: new Set() }
  const connectionListeners: ((connected: boolean) => void)[] = []
  let deliver: WireListener = () => {}
  const respond = (subject: string, id: string | undefined): object | undefined => {
    if (stream.leader === 'lost') return undefined
    if (subject.startsWith('$JS.API.STREAM.INFO.')) return { config: {} }
    if (stream.leader === 'full') return { error: { code: 503, description: 'maximum bytes exceeded' } }
    stream.stored.add(id!)
    return { stream: 'USAGE', seq: stream.stored.size }
  }
  const wire: NatsWire & { connected: boolean } = {
    connected: true,
    maxPayloadBytes: 1024 * 1024,
    publish(subject, _payload, replyTo, headers) {
      if (!wire.connected) return
      const isEvent = !subject.startsWith('$JS')
      const said = respond(subject, headers?.get('Nats-Msg-Id'))
      if (said !== undefined) deliver(Buffer.from(JSON.stringify(said)), replyTo!, undefined, false)
      else if (isEvent) deliver(NOTHING, replyTo!, undefined, true)
    },
    subscribe: async (_subject, _group, listener) => {
      deliver = (...message) => void setTimeout(listener, 1, ...message)
      return { [Symbol.asyncDispose]: async () => {} }
    },
    onConnection: (listener) => void connectionListeners.push(listener),
    flush: async () => {},
    [Symbol.asyncDispose]: async () => {},
  }
  const inbox = await openInbox(wire, 'edge.1')
  const durable = openJetStream({
    wire,
    inbox,
    requests: openRequests(
      wire,
      inbox,
      () => false,
      () => {},
    ),
    counters: new BusCounters(),
    measures: UNMEASURED,
    onStatus: () => {},
    processId: 'edge.1',
    streams: [{ name: 'USAGE', subjects: ['usage.*'], consumers: ['ledger'], replicas: 3 }],
  })
  await vi.advanceTimersByTimeAsync(1_500)
  return {
    durable,
    stream,
    connection(connected) {
      wire.connected = connected
      for (const listener of connectionListeners) listener(connected)
    },
  }
}

/** Publishes an event every 100 ms; returns true when the publisher was healthy all the time. */
async function publishFor(servers: Servers, ms: number, published: Promise<void>[]): Promise<boolean> {
  let isHealthy = true
  for (let passedMs = 0; passedMs < ms; passedMs += 100) {
    published.push(servers.durable.publish('usage.reported', EVENT, { timeoutMs: 30_000 }))
    await vi.advanceTimersByTimeAsync(100)
    isHealthy &&= servers.durable.isHealthy()
  }
  return isHealthy
}

test.each(['the same server', 'another server'])(
  'an election refuses nobody and is over within two seconds after the vote: connected to %s',
  async (server) => {
    const elections = fc.record({ lastsMs: fc.integer(ELECTION_MS), awayMs: fc.integer({ min: 100, max: 500 }) })
    await fc.assert(
      fc.asyncProperty(elections, async ({ lastsMs, awayMs }) => {
        const servers = await openServers()
        const published: Promise<void>[] = []
        servers.stream.leader = 'lost'
        if (server === 'another server') {
          servers.connection(false)
          setTimeout(() => servers.connection(true), awayMs)
        }
        expect(await publishFor(servers, lastsMs, published)).toBe(true)
        servers.stream.leader = 'taking'
        expect(await publishFor(servers, 2_000, published)).toBe(true)
        expect(servers.stream.stored.size).toBe(published.length)
        await Promise.all(published)
        await servers.durable[Symbol.asyncDispose]()
      }),
      { numRuns: 30 },
    )
  },
)

test('a stream without a leader for longer than any election is not healthy, and is healthy with the next leader', async () => {
  const servers = await openServers()
  const published: Promise<void>[] = []
  servers.stream.leader = 'lost'
  expect(await publishFor(servers, 15_000, published)).toBe(false)
  expect(servers.durable.isHealthy()).toBe(false)
  servers.stream.leader = 'taking'
  await vi.advanceTimersByTimeAsync(2_000)
  expect(servers.durable.isHealthy()).toBe(true)
  await Promise.all(published)
})

test('a leader that takes no event waits for no election', async () => {
  const servers = await openServers()
  servers.stream.leader = 'full'
  const published: Promise<void>[] = []
  expect(await publishFor(servers, 2_500, published)).toBe(false)
  servers.stream.leader = 'taking'
  await vi.advanceTimersByTimeAsync(2_000)
  expect(servers.durable.isHealthy()).toBe(true)
  await Promise.all(published)
})

test('without a connection the publisher is not healthy after two seconds', async () => {
  const servers = await openServers()
  servers.connection(false)
  await vi.advanceTimersByTimeAsync(1_900)
  expect(servers.durable.isHealthy()).toBe(true)
  await vi.advanceTimersByTimeAsync(200)
  expect(servers.durable.isHealthy()).toBe(false)
})
