import { once } from 'node:events'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { listen } from './listen.ts'

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
