import { type Broker, connectBroker } from '@gateway/testing/call-jetstream'
import { type Server, startNats } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BusCounters } from '../counters.ts'
import type { BusStatus } from '../port.ts'
import { jetStreamApi, MAX_BYTES, type JetStreamApi } from './jetstream-api.ts'
import { startSweep, sweep } from './sweep.ts'

const CONSUMERS = ['ledger', 'standing'] as const
const stream = { name: 'SWEPT', subjects: ['swept.>'], consumers: CONSUMERS }

const closing = new AsyncDisposableStack()
let server: Server
beforeAll(async () => {
  server = closing.use(await startNats({ own: true }))
})
afterAll(() => closing.disposeAsync())

function jetStreamOf({ connection }: Broker): JetStreamApi {
  return jetStreamApi({
    send: async (subject, payload, { timeoutMs: timeout }) =>
      (await connection.request(subject, payload, { timeout })).data,
  })
}

/** Creates the stream and each consumer that is missing, as the gateway's processes do. */
async function ensure(api: JetStreamApi): Promise<void> {
  await api.ensureStream(stream)
  for (const consumer of CONSUMERS) {
    await api.ensureConsumer({ stream: stream.name, consumer, subject: 'swept.>', maxBatch: 50 })
  }
}

async function publish({ connection }: Broker, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await connection.request('swept.a', 'event', { timeout: 5_000 })
}

/** Acknowledges the consumer's next events, and waits until the broker has counted it. */
async function acknowledge({ connection }: Broker, consumer: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const payload = JSON.stringify({ batch: 1, no_wait: true })
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream.name}.${consumer}`
    const event = await connection.request(subject, payload, { timeout: 5_000, noMux: true })
    await connection.request(event.reply!, '+ACK', { timeout: 5_000 })
  }
}

const stored = async (broker: Broker) =>
  (await broker.call<{ state: { messages: number; last_seq: number } }>(`STREAM.INFO.${stream.name}`)).state

type Step =
  | { do: 'publish'; count: number }
  | { do: 'acknowledge'; consumer: 0 | 1; count: number }
  | { do: 'sweep' }
  | { do: 'delete' }
const count = fc.integer({ min: 1, max: 6 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), count }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('acknowledge' as const), consumer: fc.constantFrom<0 | 1>(0, 1), count }),
  },
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'sweep' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'delete' }) },
)

describe('after any events of a stream', () => {
  test('a sweep leaves exactly the events that some consumer has not acknowledged', async () => {
    await using broker = await connectBroker(server.url)
    const api = jetStreamOf(broker)
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40, size: 'max' }), async (steps) => {
        await broker.call(`STREAM.DELETE.${stream.name}`).catch(() => {})
        await ensure(api)
        let published = 0
        let acknowledged: [number, number] = [0, 0]
        for (const taken of [...steps, { do: 'sweep' } satisfies Step]) {
          if (taken.do === 'publish') {
            await publish(broker, taken.count)
            published += taken.count
          }
          if (taken.do === 'acknowledge') {
            const due = Math.min(taken.count, published - acknowledged[taken.consumer])
            await acknowledge(broker, CONSUMERS[taken.consumer], due)
            acknowledged[taken.consumer] += due
          }
          if (taken.do === 'delete') {
            await broker.call(`STREAM.DELETE.${stream.name}`)
            await ensure(api)
            published = 0
            acknowledged = [0, 0]
          }
          if (taken.do === 'sweep') {
            await sweep(api, stream)
            expect((await stored(broker)).messages).toBe(published - Math.min(...acknowledged))
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  test('a stream that begins again in the middle of a sweep loses nothing', async () => {
    await using broker = await connectBroker(server.url)
    const api = jetStreamOf(broker)
    await broker.call(`STREAM.DELETE.${stream.name}`).catch(() => {})
    await ensure(api)
    await publish(broker, 5)
    for (const consumer of CONSUMERS) await acknowledge(broker, consumer, 5)
    const restarted = async () => {
      await broker.call(`STREAM.DELETE.${stream.name}`)
      await ensure(api)
      await publish(broker, 3)
    }
    let lookedUp = 0
    const interrupted: JetStreamApi = {
      ...api,
      async ackFloor(name, consumer) {
        const floor = await api.ackFloor(name, consumer)
        // Both floors are known, and are of the stream that was.
        if (++lookedUp === CONSUMERS.length) await restarted()
        return floor
      },
    }
    await sweep(interrupted, stream)
    expect((await stored(broker)).messages).toBe(3)
  })
})

test('the sweep reports the bytes of the stream and its bound at once', async () => {
  await using broker = await connectBroker(server.url)
  const api = jetStreamOf(broker)
  await broker.call(`STREAM.DELETE.${stream.name}`).catch(() => {})
  await ensure(api)
  await publish(broker, 5)
  const counters = new BusCounters()
  using _ = startSweep({ api, stream, counters, isConnected: () => true, onStatus() {} })
  await expect.poll(() => counters.durableFreeBytes).toBe(MAX_BYTES)
  expect(counters.durableStoredBytes).toBeGreaterThan(5 * 'event'.length)
})

test('a sweep that fails is reported', async () => {
  await using broker = await connectBroker(server.url)
  const statuses: BusStatus[] = []
  using _ = startSweep({
    api: jetStreamOf(broker),
    stream: { ...stream, name: 'NO_SUCH' },
    counters: new BusCounters(),
    isConnected: () => true,
    onStatus: (status) => statuses.push(status),
  })
  await expect.poll(() => statuses).toMatchObject([{ type: 'error', during: 'sweeping the stream NO_SUCH' }])
})
