/**
 * The report to an operator on routers and their backends.
 */

import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import { showRoutersReply } from '@gateway/contracts/routers-api'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import { createLogger } from '@gateway/telemetry/logger'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startRouter } from '../src/start.ts'
import { headerOf } from './fake-job.ts'
import { goodChat, startHttpBackend } from './http-backend.ts'
import { poolOver } from './router-under-test.ts'

let stack: AsyncDisposableStack
let operator: Bus
let startOne: () => Promise<void>
const hub = createMemoryHub({ streams: [{ ...usageStream, consumers: [] }] })
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  const dead = stack.use(await startHttpBackend((response) => void response.writeHead(401).end()))
  const good = stack.use(await startHttpBackend(goodChat))
  const config = poolOver([dead.url, good.url], { backend: { maxConcurrent: 8 } })
  const logger = createLogger({ service: 'router', level: 'silent' })
  const source = { current: config, onChange: () => ({ [Symbol.dispose]() {} }), async [Symbol.asyncDispose]() {} }
  startOne = async () => {
    const bus = stack.use(await openMemoryBus({ hub }))
    stack.use(await startRouter({ bus, config: source, environment: {}, logger }))
  }
  operator = stack.use(await openMemoryBus({ hub }))
  await startOne()
})
afterEach(() => stack.disposeAsync())

async function show() {
  const reply = await operator.request(subjects.routersShow, Buffer.from('{}'), { timeoutMs: 5_000 })
  return showRoutersReply.parse(JSON.parse(Buffer.from(reply).toString()))
}

function sendRequest(): Promise<void> {
  const over = Promise.withResolvers<void>()
  const header = headerOf()
  const job = {
    subject: subjects.job(header.pool),
    header: Buffer.from(JSON.stringify(header)),
    body: Buffer.from('{}'),
  }
  const handle = operator.dispatch(job, {
    onHead() {},
    onData: (bytes) => handle.consumed(bytes.length),
    onEnd: () => over.resolve(),
    onFailure: () => over.resolve(),
    onUnavailable: (reason) => over.reject(new Error(reason)),
    onLost: () => over.reject(new Error('lost')),
  })
  return over.promise
}

test('each live router reports its own backends: another router may not know its findings', async () => {
  await startOne()
  await expect.poll(() => show()).toMatchObject({ alive: 2, routers: [{}, {}] })
  await sendRequest()
  const { routers } = await show()
  // A limit is shared by those that live.
  const places = { control: null, outstanding: 0, places: 4, models: [] }
  const statesOfA = routers.map(({ backends }) => backends[0]!)
  expect(statesOfA.toSorted((a, b) => (a.state < b.state ? -1 : 1))).toEqual([
    {
      ...{ backend: 'a', state: 'ejected', untilMs: expect.any(Number), ...places },
      ...{ sinceMs: expect.any(Number), cause: 'http_401' },
    },
    { backend: 'a', state: 'healthy', untilMs: null, ...places },
  ])
  const ejected = statesOfA.find(({ state }) => state === 'ejected')!
  expect(ejected.untilMs! - Date.now()).toBeLessThan(2_000)
  for (const { backends, configRevision, draining, jobs } of routers) {
    expect(backends[1]).toEqual({ backend: 'b', state: 'healthy', untilMs: null, ...places })
    expect({ configRevision, draining, jobs }).toEqual({ configRevision: 'r1', draining: false, jobs: 0 })
  }
})

test('a router that does not reply is missed, and nobody waits for it long', async () => {
  // It says that it is there, and nothing else.
  const sayAlive = () =>
    operator.broadcast(subjects.routersAlive, Buffer.from(JSON.stringify({ routerId: 'a-frozen-router' })))
  const shown = async () => (sayAlive(), await show())
  await expect.poll(shown).toMatchObject({ alive: 2, routers: [{}] })
})
