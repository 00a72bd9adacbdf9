import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, test } from 'vitest'
import { allowBrowsers } from './allow-browsers.ts'

async function send(origins: string[], method: string, origin: string, wanted = 'authorization'): Promise<Headers> {
  const app = express()
  app.use(...allowBrowsers(origins), (_request, response) => void response.json({}))
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/models`
  const headers = { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': wanted }
  const response = await fetch(url, { method, headers })
  server.closeAllConnections()
  server.close()
  return response.headers
}

test('a page of a configured origin may call and read our headers', async () => {
  const headers = await send(['https://app.example.com'], 'GET', 'https://app.example.com')
  expect(headers.get('access-control-allow-origin')).toBe('https://app.example.com')
  expect(headers.get('access-control-expose-headers')).toContain('x-svc-upstream,x-svc-dropped-params')
  const preflight = await send(['https://app.example.com'], 'OPTIONS', 'https://app.example.com')
  expect(preflight.get('access-control-allow-headers')).toBe('authorization')
})

test('a page may tag its requests', async () => {
  const preflight = await send(['https://app.example.com'], 'OPTIONS', 'https://app.example.com', 'x-svc-tags')
  expect(preflight.get('access-control-allow-headers')).toBe('x-svc-tags')
})

test('a page of another origin may not', async () => {
  const headers = await send(['https://app.example.com'], 'GET', 'https://evil.example')
  expect(headers.get('access-control-allow-origin')).toBeNull()
})

test('without configured origins nothing is said to browsers', async () => {
  const headers = await send([], 'GET', 'https://app.example.com')
  expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
})
