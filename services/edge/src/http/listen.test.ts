import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { listen } from './listen.ts'

const MEBIBYTE = 'x'.repeat(1024 * 1024)
/** The kernel buffers less than this for a connection, on both sides. */
const MORE_THAN_BUFFERS_TAKE = 64

test('a stopping edge responds once more on a busy connection and closes it, so that its client lets it end', async () => {
  const held = Promise.withResolvers<void>()
  const server = await listen((_, response) => void held.promise.then(() => response.end('hello')), {
    host: '127.0.0.1',
    port: 0,
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = async () => {
    const [response] = (await once(request(server.url, { agent }).end(), 'response')) as [IncomingMessage]
    expect(await text(response)).toBe('hello')
    return response.headers.connection
  }
  const running = send()
  // Time for the request to arrive: the edge finishes each request that it has begun.
  await new Promise((resolve) => setTimeout(resolve, 100))
  server.stopAccepting()
  held.resolve()
  expect(await running).toBe('keep-alive')
  expect(await send()).toBe('close')
  await server.close()
  await expect(send()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  agent.destroy()
})

test('an edge that says that it is stopping takes new connections still, and keeps none of them', async () => {
  const server = await listen((_, response) => response.end('hello'), { host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = async () => {
    const [response] = (await once(request(server.url, { agent }).end(), 'response')) as [IncomingMessage]
    await text(response)
    return response.headers.connection
  }
  expect(await send()).toBe('keep-alive')
  server.retireConnections()
  expect([await send(), await send()]).toEqual(['close', 'close'])
  await server.close()
  agent.destroy()
})

test('a request that came before the end has the time that a stopping edge has left', async () => {
  const held = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const server = await listen(
    (_, response) => {
      arrived.resolve()
      void held.promise.then(() => response.end('hello'))
    },
    { host: '127.0.0.1', port: 0 },
  )
  const sent = once(request(server.url).end(), 'response') as Promise<[IncomingMessage]>
  await arrived.promise
  const closed = server.close(60_000)
  // Without that time its connection would be closed after one second.
  setTimeout(held.resolve, 1_500)
  const [response] = await sent
  expect(await text(response)).toBe('hello')
  await closed
})

test('a connection without a request holds up no stopping edge', async () => {
  const server = await listen((_, response) => response.end('hello'), { host: '127.0.0.1', port: 0 })
  const silent = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(silent, 'connect')
  const closed = once(silent, 'close')
  silent.resume()
  // The test's own time ends long before this one.
  await server.close(600_000)
  await closed
})

test('a client that is just sending on an idle connection gets its response, although no new connection is taken', async () => {
  const server = await listen((_, response) => response.end('hello'), { host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = async () => {
    const [response] = (await once(request(server.url, { agent }).end(), 'response')) as [IncomingMessage]
    await text(response)
    return response.headers.connection
  }
  await send()
  server.stopAccepting()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await send()).toBe('close')
  await expect(send()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await server.close()
  agent.destroy()
})

test('a response ends when its client leaves, also while bytes wait that the client does not take', async () => {
  const responding = Promise.withResolvers<ServerResponse>()
  const server = await listen(
    (_, response) => {
      responding.resolve(response)
      for (let mebibytes = 0; mebibytes < MORE_THAN_BUFFERS_TAKE; mebibytes++) response.write(MEBIBYTE)
    },
    { host: '127.0.0.1', port: 0 },
  )
  const client = connect({ port: Number(new URL(server.url).port), allowHalfOpen: true })
  client.write('GET / HTTP/1.1\r\nhost: edge\r\n\r\n')
  const response = await responding.promise
  const closed = once(response, 'close')
  client.end()
  await closed
  expect(response.writableFinished).toBe(false)
  client.destroy()
  server.stopAccepting()
  await server.close()
})

test('a response that is written completely still reaches a client that has closed its side', async () => {
  const server = await listen((_, response) => response.end(MEBIBYTE), { host: '127.0.0.1', port: 0 })
  const client = connect({ port: Number(new URL(server.url).port), allowHalfOpen: true })
  client.end('GET / HTTP/1.1\r\nhost: edge\r\n\r\n')
  expect(await text(client)).toContain(MEBIBYTE)
  server.stopAccepting()
  await server.close()
})

/**
 * A process of its own, since this one is busy: connects, sends one request on each connection, says when all are connected.
 */
const CROWD = String.raw`
  const [count, port] = process.argv.slice(1).map(Number)
  let open = 0
  for (let i = 0; i < count; i++) {
    const socket = require('node:net').connect(port, '127.0.0.1', () => {
      socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
      if (++open === count) console.log('connected')
    })
    socket.on('error', () => {})
  }
`

test('an edge whose turns are long takes new clients all the same', async () => {
  const CLIENTS = 300
  const responded = Promise.withResolvers<void>()
  let count = 0
  const server = await listen(
    (_, response) => {
      response.end('hello')
      if (++count === CLIENTS) responded.resolve()
    },
    { host: '127.0.0.1', port: 0 },
  )
  // Each turn of this process takes 20 ms from now on.
  let turns = 0
  let isBusy = true
  const turn = () => {
    for (const untilMs = performance.now() + 20; performance.now() < untilMs;);
    turns++
    if (isBusy) setImmediate(turn)
  }
  const clients = spawn(process.execPath, ['-e', CROWD, String(CLIENTS), new URL(server.url).port])
  turn()
  await once(clients.stdout, 'data')
  const connectedAt = turns
  await responded.promise
  isBusy = false
  clients.kill()
  expect(turns - connectedAt).toBeLessThan(30)
  await server.close()
})

test('a port that another process has is an error', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await expect(listen(() => {}, { host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  other.close()
  const first = await listen(() => {}, { host: '127.0.0.1', port: 0 })
  const taken = Number(new URL(first.url).port)
  await expect(listen(() => {}, { host: '127.0.0.1', port: taken })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  await first.close()
})

test('a connection goes on after a body with `expect: 100-continue` only where the body was read', async () => {
  const server = await listen(
    (sent, response) => {
      if (sent.url === '/read') {
        response.writeContinue()
        sent.resume().on('end', () => response.end('read'))
      } else response.writeHead(503).end('refused')
    },
    { host: '127.0.0.1', port: 0 },
  )
  const say = async (path: string) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    let received = ''
    socket.on('data', (bytes) => {
      if (received === '' && String(bytes).includes('100 Continue')) socket.write('abc')
      received += String(bytes)
    })
    socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\n`)
    await expect.poll(() => received).toMatch(/read|refused/)
    socket.destroy()
    return /connection: ([a-z-]+)/i.exec(received)?.[1]
  }
  expect(await say('/refuse')).toBe('close')
  expect(await say('/read')).not.toBe('close')
  await server.close()
})
