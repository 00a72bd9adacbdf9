/**
 * Small collections leave garbage of jobs that are over. It lies in the old generation until a full collection comes,
 * after having been copied there at every job's expense.
 */

import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { subjects } from '@gateway/contracts/subjects'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import v8 from 'node:v8'
import vm from 'node:vm'
import { expect, test } from 'vitest'
import { startRouter, type RouterParts } from '../src/start.ts'
import { headerOf } from './fake-job.ts'
import { completion, completeStream } from './http-backend.ts'
import { closing } from './open.ts'
import { poolOver } from './router-under-test.ts'

const UNDER_WAY = 32
const WARM_UP_JOBS = 1_500
const JOBS = 2_000
/** Where the machine stops for a moment, the jobs under way outlive a collection. A job that stays does so in every round. */
const ROUNDS = 3
/** A caller acknowledges a job's last word when it has stored the usage. */
const STORED_AFTER_MS = 5
/** A job that stays takes several times as much. */
const LEFT_BYTES_PER_JOB = 2_000

test.each([
  { reply: 'a plain response', stream: false },
  { reply: 'a stream', stream: true },
])('a job over $reply leaves nothing', async ({ stream }) => {
  const caller = await startStack(stream)
  await run(caller, stream, WARM_UP_JOBS)
  const left: number[] = []
  while (left.length < ROUNDS) {
    collect('major')
    const before = process.memoryUsage().heapUsed
    await run(caller, stream, JOBS)
    left.push((process.memoryUsage().heapUsed - before) / JOBS)
  }
  expect(Math.min(...left)).toBeLessThan(LEFT_BYTES_PER_JOB)
})

v8.setFlagsFromString('--expose-gc')
const gc = vm.runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void
const collect = (type: 'major' | 'minor') => gc({ type })

/** A router on a bus, before a backend that gives the same response to all; the caller's side of the bus. */
async function startStack(stream: boolean): Promise<Bus> {
  const hub = createMemoryHub({ streams: [] })
  const reply = stream ? completeStream() : JSON.stringify(completion())
  const contentType = stream ? 'text/event-stream' : 'application/json'
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.writeHead(200, { 'content-type': contentType }).end(reply))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  })
  const { port } = server.address() as AddressInfo
  const current = poolOver([`http://127.0.0.1:${port}/v1`], { backend: { maxConcurrent: UNDER_WAY } })
  const config = { current, onChange: () => ({ [Symbol.dispose]() {} }), async [Symbol.asyncDispose]() {} }
  const bus = closing(await openMemoryBus({ hub }))
  const logger = { debug() {}, info() {}, warn() {}, error() {} } as unknown as RouterParts['logger']
  closing(await startRouter({ bus, config, environment: {}, logger }))
  // The caller acknowledges soon: jobs under way at two collections in a row stay, and collections are many here.
  return closing(await openMemoryBus({ hub, tuning: { leisureMs: STORED_AFTER_MS } }))
}

async function run(caller: Bus, stream: boolean, jobs: number): Promise<void> {
  let begun = 0
  const lane = async () => {
    while (begun++ < jobs) {
      if (begun % 100 === 0) collect('minor')
      // A router that is late gives a job back, and an edge dispatches that job again.
      while ((await job(caller, stream)) === 'busy') await sleep(STORED_AFTER_MS)
    }
  }
  await Promise.all(Array.from({ length: UNDER_WAY }, lane))
  collect('minor')
  collect('minor')
}

function job(caller: Bus, stream: boolean): Promise<'served' | 'busy'> {
  const header = headerOf({ stream })
  const outgoing = {
    subject: subjects.job(header.pool),
    header: Buffer.from(JSON.stringify(header)),
    body: Buffer.from('{"messages":[]}'),
  }
  return new Promise((resolve, reject) => {
    const handle = caller.dispatch(outgoing, {
      onHead() {},
      onData: (bytes) => handle.consumed(bytes.length),
      onEnd: () => sleep(STORED_AFTER_MS).then(() => resolve('served')),
      async onFailure(bytes) {
        reject(new Error(Buffer.from(bytes).toString()))
      },
      onUnavailable: (reason, detail) =>
        detail === 'busy' ? resolve('busy') : reject(new Error(`${reason} ${detail}`)),
      onLost: () => reject(new Error('lost')),
    })
  })
}
