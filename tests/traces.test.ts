/**
 * One request is one trace, across the bus: edge, router, backend, ledger.
 */

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend } from '@gateway/stand-ins/backend'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '@gateway/testing/otlp-receiver'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  userMessages,
  type Caller,
  configFor,
  type Gateway,
  newDeveloper,
  newLane,
  send,
  startBackends,
} from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const CHAT = '/v1/chat/completions'
const soon = { timeout: 60_000, interval: 100 }
const newTrace = () => randomBytes(16).toString('hex')
const CLIENT_SPAN = '00f067aa0ba902b7'

const stack = new AsyncDisposableStack()
let collector: OtlpReceiver
let gateway: Gateway
let cluster: Cluster
let developer: Caller

async function openCluster(environment: NodeJS.ProcessEnv): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-traces-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = join(dataDir, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configFor(backends, { requestsPerMinute: 1_000 })))
  cluster = stack.use(
    await startCluster({
      edges: 1,
      routers: 1,
      dataDir,
      ownServers: true,
      environment: { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn', ...environment },
    }),
  )
  gateway = { urls: [cluster.edges[0]!], issuer: cluster.issuer, backends }
  developer = await newDeveloper(gateway)
}

beforeAll(async () => {
  collector = stack.use(await startOtlpReceiver())
  await openCluster({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
})
afterAll(() => stack.disposeAsync())

async function post(body: object, headers: Record<string, string> = {}) {
  return send(gateway.urls[0], CHAT, { key: developer.key, body, headers })
}

/** The spans of a trace once there are so many, by name. */
async function traced(traceId: string, count: number): Promise<Map<string, ReceivedSpan>> {
  const ofTrace = () => collector.spans.filter((span) => span.traceId === traceId)
  await expect.poll(() => ofTrace().length, soon).toBe(count)
  return new Map(ofTrace().map((span) => [`${span.service}: ${span.name}`, span]))
}

const lastCall = (backend: Backend) => backend.calls.at(-1)!

describe('a request of a client that traces', () => {
  test('is part of its trace from the edge over the router and the backend to the ledger', async () => {
    const traceId = newTrace()
    const messages = userMessages('Say: the secret word is Rumpelstiltskin')
    const { status, headers } = await post(
      { model: 'svc-core', messages },
      { traceparent: `00-${traceId}-${CLIENT_SPAN}-01` },
    )
    expect(status).toBe(200)
    const spans = await traced(traceId, 6)
    const [edge, admitting, router, call, report, row] = [
      'edge: POST /v1/chat/completions',
      'edge: admit',
      'router: serve nova',
      `router: chat ${spans
        .keys()
        .find((name) => name.startsWith('router: chat '))
        ?.slice('router: chat '.length)}`,
      'edge: report usage',
      'metering: record usage',
    ].map((name) => spans.get(name)!)
    expect([edge, admitting, router, call, report, row].map((span) => [span?.kind, span?.parentSpanId])).toEqual([
      ['server', CLIENT_SPAN],
      ['internal', edge!.spanId],
      ['consumer', edge!.spanId],
      ['client', router!.spanId],
      ['producer', edge!.spanId],
      ['consumer', report!.spanId],
    ])
    const requestId = headers.get('x-request-id')
    const usage = { 'gen_ai.usage.input_tokens': expect.any(Number), 'gen_ai.usage.output_tokens': expect.any(Number) }
    expect(edge!.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': CHAT,
      'http.response.status_code': 200,
      'gateway.request_id': requestId,
      'gateway.outcome': 'ok',
      'gateway.lane': 'svc-core',
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'svc-core',
      'gen_ai.response.model': lastCall(gateway.backends.steadyA).model,
      ...usage,
    })
    expect(call!.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': lastCall(gateway.backends.steadyA).model,
      'gateway.backend': 'steady-a',
      'server.address': '127.0.0.1',
      'server.port': gateway.backends.steadyA.port,
      ...usage,
    })
    expect(row!.attributes).toMatchObject({ 'gateway.request_id': requestId, 'gateway.reporter': 'edge' })
    // The backend can go on with the trace.
    expect(lastCall(gateway.backends.steadyA).headers['traceparent']).toBe(`00-${traceId}-${call!.spanId}-01`)
    for (const child of [admitting, router, call, report]) {
      expect(child!.startedAtMs).toBeGreaterThanOrEqual(edge!.startedAtMs - 1)
      expect(child!.endedAtMs).toBeLessThanOrEqual(edge!.endedAtMs + 1)
    }
  })

  test('shows a failover as a failed call beside the one that served', async () => {
    const traceId = newTrace()
    const lane = newLane(gateway)
    gateway.backends.frail.fail({ backend: lane.first, status: 503 })
    await post(
      { model: lane.model, messages: userMessages('Say: hi'), stream: true },
      { traceparent: `00-${traceId}-${CLIENT_SPAN}-01` },
    ).catch(() => {})
    await traced(traceId, 7)
    const calls = collector.spans.filter((span) => span.traceId === traceId && span.kind === 'client')
    expect(
      calls.map(({ attributes, isError, events }) => [
        attributes['gateway.backend'],
        isError,
        attributes['error.type'],
        events,
      ]),
    ).toEqual([
      [lane.first, true, 'http_503', []],
      [lane.second, false, undefined, ['first content']],
    ])
  })

  test('that is refused ends at the edge, with the reason of the refusal', async () => {
    const traceId = newTrace()
    await post({ model: 'svc-core' }, { traceparent: `00-${traceId}-${CLIENT_SPAN}-01` })
    const [span] = (await traced(traceId, 1)).values()
    expect(span).toMatchObject({ isError: false, attributes: { 'gateway.outcome': 'VALIDATION_ERROR' } })
  })

  test('and does not record this one is followed, not recorded', async () => {
    const traceId = newTrace()
    await post(
      { model: 'svc-core', messages: userMessages('Say: hi') },
      { traceparent: `00-${traceId}-${CLIENT_SPAN}-00` },
    )
    expect(lastCall(gateway.backends.steadyA).headers['traceparent']).toMatch(
      new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`),
    )
    const next = newTrace()
    await post({ model: 'svc-core' }, { traceparent: `00-${next}-${CLIENT_SPAN}-01` })
    await traced(next, 1)
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([])
  })
})

test('a request of a client that does not trace begins a trace of its own', async () => {
  const { headers } = await post({ model: 'svc-core', messages: userMessages('Say: hi') }, { traceparent: 'nonsense' })
  const requestId = headers.get('x-request-id')
  const own = () =>
    collector.spans.find(({ attributes, kind }) => kind === 'server' && attributes['gateway.request_id'] === requestId)
  await expect.poll(() => own()?.parentSpanId, soon).toBe('')
  await traced(own()!.traceId, 6)
})

test('no span holds a key, a prompt or a response', async () => {
  const all = Buffer.concat(collector.bodies).toString('latin1')
  expect(all).toContain('gen_ai.usage.input_tokens')
  expect(all).not.toContain('Rumpelstiltskin')
  expect(all).not.toContain(developer.key.slice(0, 16))
})

test('npm start sends its traces too', async () => {
  await using standalone = await startStandalone({
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_TRACES_SAMPLER: 'traceidratio' },
  })
  const one = await newDeveloper({ urls: [standalone.url], issuer: standalone.issuer })
  const body = { model: 'svc-core', messages: userMessages('Say: hi') }
  // Its own sampler decides, not the client.
  const traceId = newTrace()
  const traceparent = `00-${traceId}-${CLIENT_SPAN}-00`
  await send(standalone.url, CHAT, { key: one.key, body, headers: { traceparent } })
  const spans = await traced(traceId, 6)
  expect(new Set(Array.from(spans.values(), ({ service }) => service))).toEqual(new Set(['standalone']))
})
