import { once } from 'node:events'
import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { listen } from './listen.ts'

const MEBIBYTE = 'x'.repeat(1024 * 1024)
/** What the system keeps for a connection, on both sides, is less. */
const MORE_THAN_BUFFERS_TAKE = 64

test('a stopping edge answers once more on a busy connection and closes it, so that its client lets it end', async () => {
  const held = Promise.withResolvers<void>()
  const server = await listen((_, response) => void held.promise.then(() => response.end('hello')), {
    host: '127.0.0.1',
    port: 0,
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async () => {
    const [response] = (await once(request(server.url, { agent }).end(), 'response')) as [IncomingMessage]
    expect(await text(response)).toBe('hello')
    return response.headers.connection
  }
  const running = ask()
  // Time for the request to arrive: what the edge has begun it finishes.
  await new Promise((resolve) => setTimeout(resolve, 100))
  server.stopAccepting()
  held.resolve()
  expect(await running).toBe('keep-alive')
  expect(await ask()).toBe('close')
  await server.close()
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  agent.destroy()
})

test('an edge that says that it is stopping takes new connections still, and keeps none of them', async () => {
  const server = await listen((_, response) => response.end('hello'), { host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async () => {
    const [response] = (await once(request(server.url, { agent }).end(), 'response')) as [IncomingMessage]
    await text(response)
    return response.headers.connection
  }
  expect(await ask()).toBe('keep-alive')
  server.retireConnections()
  expect([await ask(), await ask()]).toEqual(['close', 'close'])
  await server.close()
  agent.destroy()
})

test('a client that is just sending on an idle connection is answered, although no new connection is taken', async () => {
  const server = await listen((_, response) => response.end('hello'), { host: '127.0.0.1', port: 0 })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = async () => {
    const [response] = (await once(request(server.url, { agent }).end(), 'response')) as [IncomingMessage]
    await text(response)
    return response.headers.connection
  }
  await ask()
  server.stopAccepting()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await ask()).toBe('close')
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  await server.close()
  agent.destroy()
})

test('an answer ends when its client leaves, also while bytes wait that the client does not take', async () => {
  const answering = Promise.withResolvers<ServerResponse>()
  const server = await listen(
    (_, response) => {
      answering.resolve(response)
      for (let mebibytes = 0; mebibytes < MORE_THAN_BUFFERS_TAKE; mebibytes++) response.write(MEBIBYTE)
    },
    { host: '127.0.0.1', port: 0 },
  )
  const client = connect({ port: Number(new URL(server.url).port), allowHalfOpen: true })
  client.write('GET / HTTP/1.1\r\nhost: edge\r\n\r\n')
  const response = await answering.promise
  const closed = once(response, 'close')
  client.end()
  await closed
  expect(response.writableFinished).toBe(false)
  client.destroy()
  server.stopAccepting()
  await server.close()
})

test('an answer that is written whole still reaches a client that has closed its side', async () => {
  const server = await listen((_, response) => response.end(MEBIBYTE), { host: '127.0.0.1', port: 0 })
  const client = connect({ port: Number(new URL(server.url).port), allowHalfOpen: true })
  client.end('GET / HTTP/1.1\r\nhost: edge\r\n\r\n')
  expect(await text(client)).toContain(MEBIBYTE)
  server.stopAccepting()
  await server.close()
})
