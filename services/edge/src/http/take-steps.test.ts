import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GatewayError } from '@gateway/contracts/errors'
import { createLogger } from '@gateway/telemetry/logger'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { createMetrics, type Metrics } from '@gateway/telemetry/metrics'
import express from 'express'
import { beginRequest, measuredOf, type Step, type StepRequest, type StepResponse, takeSteps } from './take-steps.ts'
import type { EdgeContext } from '../edge-context.ts'
import { edgeMetrics } from '../metrics.ts'
import { notFound, renderErrors } from './render-errors.ts'

/** The body that a client gets from these steps; a failure is its message. */
async function take(...steps: Step[]): Promise<string> {
  const way = takeSteps('/way', steps, (error, _request, response) => void response.end(`failed: ${String(error)}`))
  const server = createServer(way).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const received = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  server.closeAllConnections()
  server.close()
  return received.text()
}

const echo: Step = (_request, response) => void response.end(JSON.stringify(response.locals))
const later = () => new Promise((resolve) => setImmediate(resolve))

test('steps run in turn, and pass their findings on', async () => {
  const first: Step = (_request, response, next) => {
    response.locals['first'] = 1
    next()
  }
  const second: Step = async (_request, response, next) => {
    await later()
    response.locals['second'] = response.locals['first']
    next()
  }
  expect(await take(first, second, echo)).toBe('{"endpoint":"/way","first":1,"second":1}')
})

test.each<[string, Step]>([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  [
    'rejects',
    async () => {
      await later()
      throw new Error('no')
    },
  ],
  ['hands on an error', (_request, _response, next) => next(new Error('no'))],
])('a step that %s ends the way, and is reported once', async (_how, step) => {
  const before: Step = (_request, _response, next) => next()
  const unreachable: Step = (_request, response) => void response.end('reached')
  expect(await take(before, step, unreachable)).toBe('failed: Error: no')
})

let metrics: Metrics
let edge: EdgeContext
let url: string
let opened: AsyncDisposableStack

beforeEach(async () => {
  opened = new AsyncDisposableStack()
  metrics = createMetrics({ service: 'edge' })
  edge = {
    metrics: edgeMetrics(metrics),
    tracer: NO_TRACING,
    logger: createLogger({ service: 'edge', level: 'silent' }),
    config: { current: {} },
    settings: { docsUrl: 'http://docs', topupUrl: 'http://topup' },
  } as unknown as EdgeContext
  const app = express()
  app.use(beginRequest(edge))
  app.get('/v1/things/:id', (request, response) => {
    measuredOf(response).model = 'svc-instant'
    if (request.params.id === 'bad') throw new GatewayError('VALIDATION_ERROR', 'no')
    if (request.params.id === 'endless') return void response.write('…')
    response.end('fine')
  })
  app.use(notFound([]))
  app.use(renderErrors(edge))
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.defer(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => opened.disposeAsync())

function idOfOne(): string {
  const response = { locals: {}, setHeader() {}, on() {} } as unknown as StepResponse
  void beginRequest(edge)({ headers: {} } as StepRequest, response, () => {})
  return measuredOf(response).requestId
}

test('no two requests have the same id, and each begins with its time', () => {
  const before = Date.now()
  const ids = Array.from({ length: 10_000 }, idOfOne)
  const after = Date.now()
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const atMs = Number.parseInt(id.replace('-', '').slice(0, 12), 16)
    expect(atMs).toBeGreaterThanOrEqual(before)
    expect(atMs).toBeLessThanOrEqual(after)
  }
})

const counted = () => metrics.text().match(/^gateway_requests_total\{.*/gm) ?? []

test('a request is counted by its route, the requested model and its outcome', async () => {
  await fetch(`${url}/v1/things/1`)
  await fetch(`${url}/v1/things/2`)
  await fetch(`${url}/v1/things/bad`)
  await expect
    .poll(counted)
    .toEqual([
      'gateway_requests_total{service="edge",endpoint="/v1/things/:id",model="svc-instant",outcome="ok"} 2',
      'gateway_requests_total{service="edge",endpoint="/v1/things/:id",model="svc-instant",outcome="VALIDATION_ERROR"} 1',
    ])
  expect(metrics.text()).toContain('gateway_request_seconds_count{service="edge",endpoint="/v1/things/:id"} 3\n')
})

test('paths that nobody serves are counted together, however many there are', async () => {
  for (const path of ['/wp-admin', '/v1/chat/completions/../x', '/%ff']) await fetch(url + path)
  await expect
    .poll(counted)
    .toEqual(['gateway_requests_total{service="edge",endpoint="other",model="",outcome="NOT_FOUND"} 3'])
})

test('a client that leaves before the end is counted as gone', async () => {
  const leaving = new AbortController()
  const response = await fetch(`${url}/v1/things/endless`, { signal: leaving.signal })
  await response.body!.getReader().read()
  leaving.abort()
  await expect
    .poll(counted)
    .toEqual([
      'gateway_requests_total{service="edge",endpoint="/v1/things/:id",model="svc-instant",outcome="client_gone"} 1',
    ])
})
