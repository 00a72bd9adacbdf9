import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { proxyProgram } from './proxy.ts'

const LONG = 'x'.repeat(4_000_000)
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

let gateway: Server
let url: string

beforeAll(async () => {
  gateway = createServer((request, response) => {
    if (request.url === '/long') response.setHeader('connection', 'close').end(LONG)
    else response.write('begun', () => request.socket.resetAndDestroy())
  }).listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  const { port } = gateway.address() as AddressInfo
  const proxyPort = await freePort()
  const proxy = spawn(process.execPath, ['--eval', proxyProgram({ host: '127.0.0.1', port }, proxyPort)])
  stack.defer(async () => {
    proxy.kill('SIGTERM')
    await once(proxy, 'exit')
  })
  await once(proxy.stdout, 'data')
  url = `http://127.0.0.1:${proxyPort}`
})

test('a long response arrives whole, also when the gateway closes its connection', async () => {
  expect((await (await fetch(`${url}/long`)).text()).length).toBe(LONG.length)
})

test('a client hears that the gateway broke its response off', async () => {
  await expect(fetch(`${url}/broken`).then((response) => response.text())).rejects.toThrow()
})

test('a client hears that nobody is there', async () => {
  gateway.closeAllConnections()
  await once(gateway.close(), 'close')
  await expect(fetch(`${url}/long`)).rejects.toThrow()
})
