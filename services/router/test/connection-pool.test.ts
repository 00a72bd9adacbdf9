import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as turnsEnd, setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import type { Dispatcher } from 'undici'
import { expect, test } from 'vitest'
import { type Connections, openPool } from '../src/clients/connections.ts'
import { closing } from './open.ts'

const A_DAY_MS = 86_400_000

interface Arrival {
  path: string
  socket: Socket
  response: ServerResponse
}

async function openServer(onArrival: (arrival: Arrival) => void) {
  const sockets = new Set<Socket>()
  let most = 0
  const server = createServer((request: IncomingMessage, response) =>
    onArrival({ path: request.url!, socket: request.socket, response }),
  )
  server.on('connection', (socket) => {
    sockets.add(socket)
    most = Math.max(most, sockets.size)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  closing({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get most() {
      return most
    },
  }
}

interface Call {
  outcome: Promise<string>
  controller: Promise<Dispatcher.DispatchController>
}

/** The outcome is the response's body, or `failed`. A second outcome fails the test. */
function call(pool: Connections, path: string, headers: Record<string, string> = {}): Call {
  const { promise: outcome, resolve } = Promise.withResolvers<string>()
  const { promise: controller, resolve: started } = Promise.withResolvers<Dispatcher.DispatchController>()
  let text = ''
  let outcomes = 0
  const end = (word: string) => {
    expect(++outcomes).toBe(1)
    resolve(word)
  }
  pool.dispatch(
    { method: 'POST', path, headers, body: '{}' },
    {
      onRequestStart: started,
      onResponseStart: () => {},
      onResponseData: (_controller, chunk) => void (text += chunk.toString()),
      onResponseEnd: () => end(text),
      onResponseError: () => end('failed'),
    },
  )
  return { outcome, controller }
}

function arrivals() {
  const come: Arrival[] = []
  const wanted: ((arrival: Arrival) => void)[] = []
  return {
    add(arrival: Arrival) {
      const want = wanted.shift()
      if (want) want(arrival)
      else come.push(arrival)
    },
    next: async () => come.shift() ?? new Promise<Arrival>((resolve) => wanted.push(resolve)),
  }
}

test('a call takes the connection that became free last', async () => {
  const arrived = arrivals()
  const server = await openServer(arrived.add)
  const pool = openPool(server.origin, { most: 10, lifetimeMs: A_DAY_MS })
  const calls: Call[] = []
  const held: Arrival[] = []
  for (const path of ['/a', '/b', '/c']) {
    calls.push(call(pool, path))
    held.push(await arrived.next())
  }
  for (const index of [0, 2, 1]) {
    held[index]!.response.end('done')
    await calls[index]!.outcome
    // A connection is free at the end of the turn that ended its call.
    await turnsEnd()
  }
  const again = call(pool, '/d')
  const { socket, response } = await arrived.next()
  expect(socket.remotePort).toBe(held[1]!.socket.remotePort)
  response.end()
  await again.outcome
  await pool.close()
})

test('calls beyond the most connections wait for one, in their order', async () => {
  const arrived = arrivals()
  const server = await openServer(arrived.add)
  const pool = openPool(server.origin, { most: 2, lifetimeMs: A_DAY_MS })
  const calls = ['/a', '/b', '/c', '/d'].map((path) => call(pool, path))
  const first = [await arrived.next(), await arrived.next()].toSorted((a, b) => (a.path < b.path ? -1 : 1))
  expect(first.map(({ path }) => path)).toEqual(['/a', '/b'])
  const closed = pool.close()
  for (const [index, path] of [
    [0, '/c'],
    [1, '/d'],
  ] as const) {
    first[index]!.response.end('done')
    const next = await arrived.next()
    expect(next.path).toBe(path)
    first.push(next)
  }
  for (const { response } of first.slice(2)) response.end('done')
  expect(await Promise.all(calls.map(({ outcome }) => outcome))).toEqual(Array(4).fill('done'))
  await closed
  expect(server.most).toBe(2)
})

test('a call that cannot be sent leaves its connection to the next one', async () => {
  const server = await openServer(({ response }) => response.end('done'))
  const pool = openPool(server.origin, { most: 1, lifetimeMs: A_DAY_MS })
  expect(await call(pool, '/a', { 'x-broken': 'a\nb' }).outcome).toBe('failed')
  expect(await call(pool, '/b').outcome).toBe('done')
  await pool.close()
})

test('a backend that refuses connections fails each call, also those that wait', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  const pool = openPool(`http://127.0.0.1:${port}`, { most: 2, lifetimeMs: A_DAY_MS })
  const calls = Array.from({ length: 7 }, (_, index) => call(pool, `/${index}`))
  expect(await Promise.all(calls.map(({ outcome }) => outcome))).toEqual(Array(7).fill('failed'))
  await pool.close()
})

const RESPONSES = ['complete', 'slow', 'last', 'cut', 'cut at once', 'left'] as const

test('each call has one outcome, for any fate of connections, and no more are open than may be', async () => {
  const step = fc.record({
    reply: fc.constantFrom(...RESPONSES),
    afterMs: fc.integer({ min: 0, max: 8 }),
    pauseMs: fc.integer({ min: 0, max: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(0, 5, A_DAY_MS),
      async (steps, most, lifetimeMs) => {
        const server = await openServer(({ path, socket, response }) => {
          const { reply, afterMs } = steps[Number(path.slice(1))]!
          if (reply === 'cut at once') return void socket.resetAndDestroy()
          if (reply === 'last') response.setHeader('connection', 'close')
          if (reply !== 'complete') response.write('some')
          setTimeout(() => {
            if (reply === 'cut') socket.destroy()
            else if (reply !== 'left') response.end('done')
          }, afterMs)
        })
        const pool = openPool(server.origin, { most, lifetimeMs })
        const outcomes: Promise<string>[] = []
        for (const [index, { reply, afterMs, pauseMs }] of steps.entries()) {
          const { outcome, controller } = call(pool, `/${index}`)
          outcomes.push(outcome)
          if (reply === 'left') {
            void controller.then((begun) => setTimeout(() => begun.abort(new Error('nobody waits')), afterMs))
          }
          if (pauseMs > 0) await delay(pauseMs)
        }
        const ended = await Promise.all(outcomes)
        for (const [index, { reply }] of steps.entries()) {
          const expected = { complete: 'done', slow: 'somedone', last: 'somedone' }[reply as string] ?? 'failed'
          expect(ended[index]).toBe(expected)
        }
        await pool.close()
        // An old connection ends its call beside the one that takes its place.
        if (lifetimeMs === A_DAY_MS) expect(server.most).toBeLessThanOrEqual(most + closingAtOnce(steps))
      },
    ),
    { numRuns: 60 },
  )
}, 120_000)

/** The server hears some time after the router that a connection is over. */
function closingAtOnce(steps: { reply: (typeof RESPONSES)[number] }[]): number {
  return steps.filter(({ reply }) => reply !== 'complete' && reply !== 'slow').length
}
