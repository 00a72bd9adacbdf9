import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import dns from 'node:dns'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requestJetStream, type Broker, connectBroker } from '@gateway/testing/call-jetstream'
import { type Server, startNats } from '@gateway/servers/start'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { eventStream } from '../conformance/adapters.ts'
import { dispatchJob, read, text, until } from '../conformance/recorded-responses.ts'
import { openObserver } from '../conformance/observer.ts'
import { openNatsBus } from '../nats.ts'
import type { DurableMessage, BusStatus } from '../port.ts'
import { PORTION_BYTES } from './durable-consume.ts'
import { jetStreamApi } from './jetstream-api.ts'
import { sweep } from './sweep.ts'

describe('a bus on NATS', () => {
  let closing: AsyncDisposableStack
  beforeEach(() => void (closing = new AsyncDisposableStack()))
  afterEach(() => closing.disposeAsync())

  it('waits for a server that is not there yet, and says so', async () => {
    const server = closing.use(await startNats({ own: true }))
    await server.stop()
    const statuses: BusStatus[] = []
    const opening = openNatsBus({ url: server.url, name: 'early', onStatus: (status) => statuses.push(status) })
    await until(() => statuses.length >= 2)
    await server.restart()
    closing.use(await opening)
    expect(statuses[0]).toMatchObject({ type: 'connecting', error: expect.any(Error) })
    expect(statuses.at(-1)).toMatchObject({ type: 'connected' })
  })

  it.each([
    { how: 'away', signal: 'SIGKILL', noticed: true, named: true },
    { how: 'away, and its name too', signal: 'SIGKILL', noticed: true, named: false },
    { how: 'silent, and nobody has noticed', signal: 'SIGSTOP', noticed: false, named: true },
    { how: 'silent, and given up', signal: 'SIGSTOP', noticed: true, named: true },
  ] as const)('closes when its server is $how', async ({ signal, noticed, named }) => {
    const server = closing.use(await startNats({ own: true }))
    const statuses: BusStatus[] = []
    const onStatus = (status: BusStatus) => void statuses.push(status)
    const url = server.url.replace('127.0.0.1', 'localhost')
    const bus = await openNatsBus({ url, name: 'last', streams: [eventStream], onStatus })
    const consumer = { stream: 'EVENTS', subject: 'events.x', consumer: 'ledger', maxBatch: 10 }
    const subscriptions = [
      await bus.serve('echo', 'servers', async (payload) => payload),
      await bus.listen('news', () => {}),
      await bus.serveJobs('job.a', 'routers', () => {}),
      await bus.durable.consume({ ...consumer, handler: async () => {} }),
    ]
    if (!named) closing.use(forgetNames())
    await server.kill(signal)
    if (noticed) await until(() => statuses.some(({ type }) => type === 'disconnected'))
    for (const subscription of subscriptions) await subscription[Symbol.asyncDispose]()
    await bus.flush()
    await bus[Symbol.asyncDispose]()
  })

  it('logs in with the user and password of its URL', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'bus-auth-'))
    closing.defer(() => rm(directory, { recursive: true, force: true }))
    const config = join(directory, 'nats.conf')
    await writeFile(config, `listen: "127.0.0.1:-1"\nauthorization { user: edge, password: "s3/cret" }\n`)
    const server = spawn('nats-server', ['-c', config], { stdio: ['ignore', 'ignore', 'pipe'] })
    closing.defer(async () => {
      server.kill('SIGKILL')
      await once(server, 'exit')
    })
    const port = await new Promise<string>((resolve) => {
      let log = ''
      server.stderr.on('data', (line: Buffer) => {
        log += line.toString()
        const listening = /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(log)
        if (listening) resolve(listening[1]!)
      })
    })
    const refusals: BusStatus[] = []
    const opening = openNatsBus({
      url: `nats://edge:wrong@127.0.0.1:${port}`,
      name: 'x',
      onStatus: (s) => refusals.push(s),
    })
    void opening.then((bus) => bus[Symbol.asyncDispose]())
    await until(() => refusals.length > 0)
    expect(refusals[0]).toMatchObject({ type: 'connecting' })

    const bus = closing.use(await openNatsBus({ url: `nats://edge:s3%2Fcret@127.0.0.1:${port}`, name: 'edge' }))
    await using _ = await bus.serve('echo', 'servers', async (payload) => payload)
    expect(read(await bus.request('echo', text('in'), { timeoutMs: 1_000 }))).toBe('in')
  })

  it('subscribes once, however much it requests, dispatches and publishes', async () => {
    const server = closing.use(await startNats({ own: true }))
    const worker = closing.use(await openNatsBus({ url: server.url, name: 'worker' }))
    const observer = await openObserver(server.url)
    closing.defer(() => observer.close())
    const caller = closing.use(await openNatsBus({ url: observer.url, name: 'caller', streams: [eventStream] }))
    await worker.serveJobs('job.a', 'routers', (job) => {
      job.accept()
      job.end(text(''))
    })
    await worker.serve('echo', 'servers', async (payload) => payload)
    for (let i = 0; i < 20; i++) {
      await dispatchJob(caller, { subject: 'job.a' }).over
      await caller.request('echo', text('?'), { timeoutMs: 1_000 })
      await caller.durable.publish('events.a', text('!'), { timeoutMs: 1_000 })
    }
    expect(observer.sent().match(/^SUB .*$/gm)).toEqual([`SUB inbox.${caller.processId}.> 1`])
  })

  it('takes a backlog of large events in portions that fit its memory', async () => {
    const server = closing.use(await startNats({ own: true }))
    const bus = closing.use(await openNatsBus({ url: server.url, name: 'x', streams: [eventStream] }))
    const event = Buffer.alloc(900_000)
    for (let i = 0; i < 80; i++) await bus.durable.publish('events.a', event, { timeoutMs: 10_000 })
    const broker = closing.use(await connectBroker(server.url))
    const pending = async () =>
      (await broker.call<{ num_ack_pending: number }>('CONSUMER.INFO.EVENTS.ledger')).num_ack_pending
    const batches: number[] = []
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    closing.defer(open)
    const handler = async (batch: DurableMessage[]) => {
      batches.push(batch.reduce((sum, { payload }) => sum + payload.length, 0))
      await opened
    }
    await bus.durable.consume({ stream: 'EVENTS', subject: 'events.>', consumer: 'ledger', maxBatch: 1_000, handler })
    // However long the first portion takes, no more comes than the next one.
    await expect.poll(pending).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect((await pending()) * event.length).toBeLessThan(2 * PORTION_BYTES)
    open()
    await until(() => batches.reduce((sum, bytes) => sum + bytes, 0) === 80 * event.length)
    expect(Math.max(...batches)).toBeLessThan(PORTION_BYTES)
  })

  it('removes from a stream the events that all its consumers have acknowledged, and nothing else', async () => {
    const server = closing.use(await startNats({ own: true }))
    const stream = { ...eventStream, consumers: ['ledger', 'standing'] }
    const bus = closing.use(await openNatsBus({ url: server.url, name: 'x', streams: [stream] }))
    for (let i = 0; i < 10; i++) await bus.durable.publish('events.a', text(`${i}`), { timeoutMs: 1_000 })
    const broker = closing.use(await connectBroker(server.url))
    const api = jetStreamOf(broker)
    const consume = (consumer: string, count: number) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      let left = count
      const handler = async (batch: unknown[]) => {
        if (left === 0) throw new Error('enough')
        left -= batch.length
        if (left === 0) setTimeout(resolve, 50)
      }
      bus.durable.consume({ stream: 'EVENTS', subject: 'events.>', consumer, maxBatch: 1, handler }).catch(reject)
      return promise
    }

    await consume('ledger', 10)
    await sweep(api, stream)
    expect(await kept(broker)).toBe(10)
    await consume('standing', 4)
    await sweep(api, stream)
    expect(await kept(broker)).toBe(6)
    await sweep(api, stream)
    expect(await kept(broker)).toBe(6)
  })

  describe('goes on removing acknowledged events from a stream that began again', () => {
    const directoryOf = async () => {
      const directory = await mkdtemp(join(tmpdir(), 'bus-swept-'))
      closing.defer(() => rm(directory, { recursive: true, force: true }))
      return directory
    }
    it.each<[string, (server: Server, directory: string) => Promise<unknown>]>([
      ['because somebody deleted it', (server) => requestJetStream(server.url, 'STREAM.DELETE.EVENTS')],
      [
        'because the broker lost its files',
        async (server, directory) => {
          await server.stop()
          await rm(join(directory, 'jetstream'), { recursive: true, force: true })
          await server.restart()
        },
      ],
    ])('%s', async (_, lose) => {
      const directory = await directoryOf()
      const server = closing.use(await startNats({ own: true, directory }))
      const bus = closing.use(await openNatsBus({ url: server.url, name: 'x', streams: [eventStream] }))
      const consumed: string[] = []
      await bus.durable.consume({
        stream: 'EVENTS',
        subject: 'events.>',
        consumer: 'ledger',
        maxBatch: 100,
        handler: async (batch) => void consumed.push(...batch.map(({ payload }) => read(payload))),
      })
      const publish = async (count: number) => {
        const before = consumed.length
        for (let i = 0; i < count; i++) await bus.durable.publish('events.a', text(`${i}`), { timeoutMs: 10_000 })
        await until(() => consumed.length >= before + count)
      }
      /** Sweeps once `count` events are acknowledged, and says how many the stream has kept. */
      const keptAfter = async (count: number) => {
        await using broker = await connectBroker(server.url)
        const api = jetStreamOf(broker)
        await expect.poll(() => api.ackFloor('EVENTS', 'ledger'), { interval: 20 }).toBe(count)
        expect(await kept(broker)).toBe(count)
        await sweep(api, eventStream)
        return await kept(broker)
      }

      await publish(8)
      expect(await keptAfter(8)).toBe(0)
      // A pull that has just begun and ends at once is taken for a refused one.
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      await lose(server, directory)
      await publish(3)
      expect(await keptAfter(3)).toBe(0)
    })
  })
})

const jetStreamOf = ({ connection }: Broker) =>
  jetStreamApi({
    send: async (subject, payload, { timeoutMs: timeout }) =>
      (await connection.request(subject, payload, { timeout })).data,
  })

async function kept(broker: Broker): Promise<number> {
  return (await broker.call<{ state: { messages: number } }>('STREAM.INFO.EVENTS')).state.messages
}

/** Fails look-ups of names, as in a cluster whose Service of NATS is deleted. */
function forgetNames(): Disposable {
  const lookUp = vi.spyOn(dns, 'lookup').mockImplementation((...args: unknown[]) => {
    const callback = args.at(-1) as (error: Error) => void
    process.nextTick(() => callback(new Error('the name is not known')))
  })
  return { [Symbol.dispose]: () => lookUp.mockRestore() }
}
