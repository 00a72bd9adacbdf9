/**
 * The router on real buses: the frames that a caller gets of a job. They also show the fate of the job when the caller stops or
 * dies.
 */

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus, JobHandle } from '@gateway/bus/port'
import type { GatewayConfig } from '@gateway/contracts/config'
import type { ResponseEnd, ResponseFailure, ResponseHead, JobHeader } from '@gateway/contracts/job'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import type { ClientDialect } from '@gateway/contracts/vendors'
import type { UsageBatch, UsageEvent } from '@gateway/contracts/usage-event'
import { createLogger } from '@gateway/telemetry/logger'
import { startNats } from '@gateway/servers/start'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startRouter } from '../src/start.ts'
import { headerOf } from './fake-job.ts'
import {
  chunk,
  goodChat,
  openStream,
  ROLE,
  USAGE_CHUNK,
  completeStream,
  type Reply,
  type HttpBackend,
} from './http-backend.ts'
import { backend, closing, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'

interface DispatchedJob {
  head: ResponseHead | null
  text(): string
  end: ResponseEnd | null
  failure: ResponseFailure | null
  unavailable: string | null
  begun: Promise<void>
  over: Promise<void>
  handle: JobHandle
}

function dispatch(bus: Bus, header: Partial<JobHeader>): DispatchedJob {
  const over = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const data: Buffer[] = []
  const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())
  const full = headerOf(header)
  const job = {
    subject: subjects.job(full.pool),
    header: Buffer.from(JSON.stringify(full)),
    body: Buffer.from('{"messages":[]}'),
  }
  const dispatched: DispatchedJob = {
    head: null,
    text: () => Buffer.concat(data).toString(),
    end: null,
    failure: null,
    unavailable: null,
    begun: begun.promise,
    over: over.promise,
    handle: bus.dispatch(job, {
      onHead: (bytes) => void (dispatched.head = parse(bytes) as ResponseHead),
      onData(bytes) {
        data.push(Buffer.from(bytes))
        dispatched.handle.consumed(bytes.length)
        begun.resolve()
      },
      onEnd(bytes) {
        dispatched.end = parse(bytes) as ResponseEnd
        over.resolve()
      },
      onFailure(bytes) {
        dispatched.failure = parse(bytes) as ResponseFailure
        over.resolve()
      },
      onUnavailable(reason) {
        dispatched.unavailable = reason
        over.resolve()
      },
      onLost: over.resolve,
    }),
  }
  return dispatched
}

const logger = createLogger({ service: 'router', level: 'silent' })
const streams = [{ ...usageStream, consumers: ['test'] }]
const hub = createMemoryHub({ streams })
let nats: Awaited<ReturnType<typeof startNats>>
beforeAll(async () => {
  nats = await startNats()
})
afterAll(() => nats[Symbol.asyncDispose]())

/** Way to the broker of each caller that may be lost. */
const relays = new WeakMap<Bus, BrokerRelay>()
/** `lose`: the caller is gone without a word. */
const buses: { name: string; open: () => Promise<Bus>; lose: (caller: Bus) => void }[] = [
  { name: 'memory', open: () => openMemoryBus({ hub }), lose: (caller) => hub.cut(caller.processId) },
  { name: 'NATS', open: openBusOverRelay, lose: (caller) => relays.get(caller)!.cut() },
]

async function openBusOverRelay(): Promise<Bus> {
  const relay = await openRelay(Number(new URL(nats.url).port))
  const bus = await openNatsBus({ url: `nats://127.0.0.1:${relay.port}`, name: 'test', streams })
  relays.set(bus, relay)
  closing({ [Symbol.asyncDispose]: async () => relay.cut() })
  return bus
}

interface BrokerRelay {
  port: number
  cut(): void
}

async function openRelay(to: number): Promise<BrokerRelay> {
  const sockets = new Set<Socket>()
  const server = createServer((inside) => {
    const outside = connect(to, '127.0.0.1')
    for (const socket of [inside, outside]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => (inside.destroy(), outside.destroy()))
    }
    inside.pipe(outside).pipe(inside)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port: (server.address() as AddressInfo).port, cut }
}

describe.each(buses)('on the $name bus', ({ open, lose }) => {
  /** Callers and routers have a connection each. */
  const connect = async () => closing(await open())

  async function startRouterOver(config: GatewayConfig): Promise<Bus> {
    const bus = await connect()
    const source = {
      current: config,
      onChange: () => ({ [Symbol.dispose]() {} }),
      async [Symbol.asyncDispose]() {},
    }
    closing(await startRouter({ bus, config: source, environment: {}, logger }))
    return bus
  }

  async function stack(reply: Reply): Promise<{ caller: Bus; backend: HttpBackend; reports: UsageEvent[] }> {
    const only = await backend(reply)
    const caller = await connect()
    const worker = await startRouterOver(poolOver([only.url]))
    const reports: UsageEvent[] = []
    const consumer = { stream: usageStream.name, subject: subjects.usage, consumer: 'test', maxBatch: 100 }
    closing(
      await worker.durable.consume({
        ...consumer,
        async handler(batch) {
          for (const { payload } of batch)
            reports.push(...(JSON.parse(Buffer.from(payload).toString()) as UsageBatch).events)
        },
      }),
    )
    return { caller, backend: only, reports }
  }

  test('a stream reaches its caller whole', async () => {
    const { caller } = await stack(goodChat)
    const dispatched = dispatch(caller, { stream: true })
    await dispatched.over
    expect(dispatched.text()).toBe(completeStream().replace(USAGE_CHUNK, '').replace('data: [DONE]\n\n', ''))
    expect(dispatched.end?.usage.completionTokens).toBe(3)
  })

  test('a job in a dialect that this version does not know is refused, and no backend is called', async () => {
    const { caller, backend, reports } = await stack(goodChat)
    const dispatched = dispatch(caller, { dialect: 'telepathy' as ClientDialect, stream: true })
    await dispatched.over
    expect([dispatched.head, dispatched.end, dispatched.text()]).toEqual([null, null, ''])
    expect(dispatched.failure).toEqual({
      code: 'INTERNAL_ERROR',
      message: 'The job is not readable',
      attempted: [],
      attempts: [],
    })
    expect([backend.seen, reports]).toEqual([[], []])
  })

  test('a caller that leaves takes the backend with it, and learns the generated tokens', async () => {
    const { caller, backend, reports } = await stack((response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'one two three' }))
    })
    const requestId = headerOf().requestId
    const dispatched = dispatch(caller, { stream: true, requestId })
    await dispatched.begun
    const startedAtMs = performance.now()
    dispatched.handle.leave()
    await backend.seen[0]?.connectionClosed
    expect(performance.now() - startedAtMs).toBeLessThan(15_000)
    await dispatched.over
    expect(dispatched.failure).toMatchObject({ usage: { completionTokens: 3, estimated: true } })
    expect(reports.filter((report) => report.requestId === requestId)).toEqual([])
  })

  test('a caller that dies takes the backend with it within seconds, and is reported as lost', async () => {
    const { caller, backend, reports } = await stack((response) => {
      openStream(response)
      response.write(ROLE + chunk({ content: 'one two three' }))
    })
    const requestId = headerOf().requestId
    const dispatched = dispatch(caller, { stream: true, requestId })
    await dispatched.begun
    lose(caller)
    await backend.seen[0]?.connectionClosed
    const mine = () => reports.filter((report) => report.requestId === requestId)
    await expect.poll(mine, SOON).toMatchObject([
      {
        outcome: 'edge_lost',
        reporter: 'router',
        delivered: false,
        usage: { completionTokens: 3 },
      },
    ])
  })

  test('a finished job whose caller has acknowledged its end is not reported', async () => {
    const { caller, reports } = await stack(goodChat)
    const requestId = headerOf().requestId
    const dispatched = dispatch(caller, { requestId })
    await dispatched.over
    await new Promise((resolve) => setTimeout(resolve, 300))
    await caller[Symbol.asyncDispose]()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    expect(reports.filter((report) => report.requestId === requestId)).toEqual([])
  })

  test('three routers and one slot: the backend gets requests one by one, and nobody is refused', async () => {
    let running = 0
    let most = 0
    const only = await backend((response, request, socket) => {
      most = Math.max(most, ++running)
      response.once('finish', () => running--)
      setTimeout(() => goodChat(response, request, socket), 20)
    })
    const config = poolOver([only.url], { backend: { maxConcurrent: 1 } })
    const caller = await connect()
    for (let routers = 0; routers < 3; routers++) await startRouterOver(config)
    // The last one may not have heard of the others yet.
    const mostNow = async () => {
      most = 0
      await replies(caller, 3)
      return most
    }
    await expect.poll(mostNow, SOON).toBe(1)
    expect(await replies(caller, 12)).toEqual(Array.from({ length: 12 }, () => 'served'))
    expect(most).toBe(1)
  })

  /** Jobs at once, each dispatched again where nobody took it, as an edge does. */
  async function replies(caller: Bus, count: number): Promise<string[]> {
    const reply = async (): Promise<string> => {
      const dispatched = dispatch(caller, { remainingMs: 20_000 })
      await dispatched.over
      if (dispatched.unavailable === null) return dispatched.end ? 'served' : `failed: ${dispatched.failure?.code}`
      await new Promise((resolve) => setTimeout(resolve, 25))
      return reply()
    }
    return Promise.all(Array.from({ length: count }, reply))
  }
})
