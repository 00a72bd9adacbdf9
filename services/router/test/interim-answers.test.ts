/**
 * Interim answers that nobody asked for. A client of HTTP must be able to read any number of them before the final one
 * (RFC 9110, section 15.2); some servers and proxies send a 100 to every POST.
 */

import fc from 'fast-check'
import { createServer, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { completion } from './http-backend.ts'
import { closing, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const LONG = `HTTP/1.1 100 Continue\r\nx-proxy: ${'a'.repeat(500)}\r\n\r\n`
const HINTS = 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n'
const PROCESSING = 'HTTP/1.1 102 Processing\r\n\r\n'
const BODY = JSON.stringify(completion())
const OK = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

/** Writes the pieces one by one to each request, and keeps the connection. */
async function serverThatSays(piecesOf: () => string[]) {
  let connections = 0
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    connections++
    sockets.add(socket.setNoDelay().on('error', () => {}))
    let head = ''
    socket.on('data', (bytes) => {
      head += bytes.toString('latin1')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? NaN)
      const end = head.indexOf('\r\n\r\n') + 4
      if (end < 4 || head.length < end + length) return
      head = ''
      void (async () => {
        for (const piece of piecesOf()) {
          await new Promise<void>((written) => socket.write(piece, () => written()))
          await turn()
        }
      })()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing({
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  return { url, connections: () => connections }
}

/** Cuts a text at these places. */
function cut(text: string, places: number[]): string[] {
  const ends = [...new Set(places.map((place) => place % text.length)), text.length].toSorted((a, b) => a - b)
  return ends.map((end, index) => text.slice(index === 0 ? 0 : ends[index - 1], end)).filter(Boolean)
}

describe('before a final answer', () => {
  test.each([
    ['a 100', [CONTINUE + OK]],
    ['a 100 in a packet of its own', [CONTINUE, OK]],
    ['a 100 letter by letter', [...CONTINUE.split(''), OK]],
    ['several', [CONTINUE + PROCESSING + LONG + HINTS + CONTINUE, OK]],
  ])('%s is read over, and the connection stays', async (_, pieces) => {
    const server = await serverThatSays(() => pieces)
    const running = await router(poolOver([server.url]))
    for (let count = 0; count < 5; count++) {
      const job = await running.ask()
      expect(job.end?.attempts).toMatchObject([{ outcome: 'served' }])
      expect(JSON.parse(job.text())).toEqual(completion())
    }
    // The next request may come before the connection of the last is free.
    expect(server.connections()).toBeLessThanOrEqual(2)
  })

  test('any of them, cut anywhere', async () => {
    let pieces: string[] = []
    const server = await serverThatSays(() => pieces)
    const running = await router(poolOver([server.url]))
    const interims = fc.array(fc.constantFrom(CONTINUE, LONG, HINTS, PROCESSING), { maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(interims, fc.array(fc.nat(2_000), { maxLength: 8 }), async (before, places) => {
        pieces = cut(before.join('') + OK, places)
        const job = await running.ask()
        expect(JSON.parse(job.text())).toEqual(completion())
      }),
      { numRuns: 200 },
    )
    // The next request may come before the connection of the last is free.
    expect(server.connections()).toBeLessThanOrEqual(2)
  }, 60_000)
})

test('an answer whose body looks like an interim answer comes whole', async () => {
  const text = `${CONTINUE}HTTP/1.1 100 `
  const body = JSON.stringify(completion(text))
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`
  const server = await serverThatSays(() => [head, body.slice(0, 40), body.slice(40)])
  const running = await router(poolOver([server.url]))
  expect(JSON.parse((await running.ask()).text())).toEqual(completion(text))
})

test('a backend that never comes to an end of its interim answers is given up', async () => {
  const server = await serverThatSays(() =>
    Array.from({ length: 200 }, () => `HTTP/1.1 100 Continue\r\nx: ${'a'.repeat(60_000)}`),
  )
  const running = await router(poolOver([server.url]))
  const job = await running.ask({ remainingMs: 3_000 })
  expect(job.failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED' })
})
