import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { openHealthServer, type ReadinessCheck } from './health.ts'
import { createProcessMetrics } from '@gateway/telemetry/process-metrics'

const request = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init)
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
}

test('a process that runs is alive, even while it is not ready', async () => {
  await using health = await openHealthServer({ port: 0, checks: { nats: () => false } })
  expect(await request(`${health.url}/healthz`)).toMatchObject({ status: 200, text: '{"status":"alive"}' })
})

test('a process is ready when all its checks pass', async () => {
  await using health = await openHealthServer({ port: 0, checks: { nats: () => true, database: async () => true } })
  expect(await request(`${health.url}/readyz`)).toMatchObject({ status: 200, text: '{"status":"ready"}' })
})

test.each<[string, ReadinessCheck, string]>([
  ['says no', () => false, 'not ready'],
  ['throws', () => Promise.reject(new Error('connection refused')), 'connection refused'],
  [
    'throws at once',
    () => {
      throw new Error('closed')
    },
    'closed',
  ],
  ['never answers', () => new Promise(() => {}), 'no answer within 800 ms'],
])('a check that %s is named, with its reason, and the rest is not', async (_, check, reason) => {
  await using health = await openHealthServer({ port: 0, checks: { nats: () => true, database: check } })
  const { status, text } = await request(`${health.url}/readyz`)
  expect(status).toBe(503)
  expect(JSON.parse(text)).toEqual({ status: 'not ready', failing: { database: reason } })
})

test('metrics are Prometheus text', async () => {
  const metrics = createProcessMetrics({ service: 'edge' })
  await using health = await openHealthServer({ port: 0, checks: {}, metrics })
  const { status, type, text } = await request(`${health.url}/metrics`)
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  expect(text).toContain('# TYPE process_cpu_seconds_total counter')
})

test('nothing else is served, and nothing can be sent', async () => {
  await using health = await openHealthServer({ port: 0, checks: {} })
  expect((await request(`${health.url}/metrics`)).status).toBe(404)
  expect((await request(`${health.url}/healthz`, { method: 'POST' })).status).toBe(405)
})

test('listens on the loopback address unless configured otherwise', async () => {
  await using health = await openHealthServer({ port: 0, checks: {} })
  expect(new URL(health.url).hostname).toBe('127.0.0.1')
})

test('a taken port is an error that says which variable to change', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await expect(openHealthServer({ port, checks: {} })).rejects.toThrow(
    `127.0.0.1:${port} is taken by another process; set HEALTH_PORT`,
  )
  other.close()
})

test('stops at once, even with open connections', async () => {
  const health = await openHealthServer({ port: 0, checks: { slow: () => new Promise(() => {}) } })
  const pending = fetch(`${health.url}/readyz`).catch(() => 'cut')
  await request(`${health.url}/healthz`)
  await health[Symbol.asyncDispose]()
  expect(await pending).toBe('cut')
})
