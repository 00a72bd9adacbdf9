/**
 * Measures the cost of the bus: CPU per job, per streamed chunk and per durable event, for caller and worker apart.
 *
 *     node_modules/node/bin/node dev/bench/bus.ts
 *
 * Two processes on a NATS server of their own, all on this machine; the broker's CPU is not counted.
 */

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openNatsBus } from '@gateway/bus/nats'
import type { CountedBus } from '@gateway/bus/bus'
import { startNats } from '@gateway/servers/start'

const CHUNKS = 100
const CHUNK_EVERY_MS = 50
const none = Buffer.from('{}')

const [role, url] = process.argv.slice(2)
await (role === 'worker' && url !== undefined ? work(url) : measure())

async function work(url: string): Promise<void> {
  const bus = await openNatsBus({ url, name: 'bench worker' })
  await bus.serveJobs('job.plain', 'workers', (job) => {
    job.accept()
    job.head(none)
    void job.data(Buffer.alloc(1_000))
    job.end(none)
  })
  await bus.serveJobs('job.streamed', 'workers', (job) => {
    job.accept()
    job.head(none)
    let sent = 0
    const timer = setInterval(() => {
      void job.data(Buffer.alloc(200))
      if (++sent < CHUNKS) return
      clearInterval(timer)
      job.end(none)
    }, CHUNK_EVERY_MS)
  })
  process.on('message', () => process.send?.(process.cpuUsage()))
  process.on('disconnect', () => process.exit())
  process.send?.('ready')
}

async function measure(): Promise<void> {
  await using server = await startNats({ own: true })
  const worker = fork(import.meta.filename, ['worker', server.url])
  await once(worker, 'message')
  const stream = { name: 'BENCH', subjects: ['bench.>'], consumers: ['nobody'] }
  await using bus = await openNatsBus({ url: server.url, name: 'bench caller', streams: [stream] })

  const workerCpu = async (): Promise<number> => {
    worker.send('cpu')
    const [usage] = (await once(worker, 'message')) as [NodeJS.CpuUsage]
    return usage.user + usage.system
  }
  const timed = async (name: string, count: number, run: () => Promise<unknown>) => {
    const [before, workerBefore, startedAt] = [process.cpuUsage(), await workerCpu(), performance.now()]
    await run()
    const seconds = (performance.now() - startedAt) / 1_000
    const own = process.cpuUsage(before)
    const figures = [(own.user + own.system) / count, ((await workerCpu()) - workerBefore) / count]
    const [caller, other] = figures.map((microseconds) => microseconds.toFixed(1))
    console.log(`${name}: ${Math.round(count / seconds)}/s, caller ${caller} µs, worker ${other} µs each`)
  }

  await times(5_000, 20, () => job(bus, 'job.plain'))
  for (const concurrency of [1, 20, 200]) {
    const count = concurrency === 1 ? 3_000 : 20_000
    await timed(`jobs, ${concurrency} at a time`, count, () => times(count, concurrency, () => job(bus, 'job.plain')))
  }
  await timed('chunks of 1,000 streams', 1_000 * CHUNKS, () => times(1_000, 1_000, () => streamed(bus)))
  await timed('durable events', 20_000, () =>
    times(20_000, 50, () => bus.durable.publish('bench.event', Buffer.alloc(800), { timeoutMs: 10_000 })),
  )
  worker.disconnect()
}

/** Streams do not tick in step. */
async function streamed(bus: CountedBus): Promise<void> {
  await sleep(Math.random() * CHUNK_EVERY_MS)
  await job(bus, 'job.streamed')
}

function job(bus: CountedBus, subject: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const failed = () => reject(new Error(`a job on ${subject} failed`))
  const handle = bus.dispatch(
    { subject, header: Buffer.alloc(600), body: Buffer.alloc(2_000), acceptTimeoutMs: 5_000 },
    {
      onHead: () => {},
      onData: (bytes) => handle.consumed(bytes.length),
      onEnd: () => resolve(),
      onFailure: failed,
      onUnavailable: failed,
      onLost: failed,
    },
  )
  return promise
}

async function times(count: number, concurrency: number, run: () => Promise<void>): Promise<void> {
  let left = count
  const lane = async () => {
    while (left-- > 0) await run()
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
}
