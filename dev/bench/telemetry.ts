/**
 * Measures the cost of telemetry: `node_modules/node/bin/node dev/bench/telemetry.ts [--rounds 2] [--seconds 6]`.
 *
 * Metrics: the very calls that a request makes, a million times over. Traces: the gateway's CPU per request by process
 * without a collector, with one request in a hundred traced, and with all of them. All are launched in turn. The
 * collector takes every span and keeps nothing; its CPU does not count.
 */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { createMetrics } from '@gateway/telemetry/metrics'
import { edgeMetrics } from '../../services/edge/src/metrics.ts'
import { routerMetrics } from '../../services/router/src/metrics.ts'
import { spreadOf } from './harness/statistics.ts'
import { openRig, PLAIN, sumOf } from './scale/rig.ts'

const WARM_UP_SECONDS = 4
const CONNECTIONS = 32
const CALLS = 1_000_000

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '2' }, seconds: { type: 'string', default: '6' } },
})

measureMetrics()
await measureTraces(Number(values.rounds), Number(values.seconds))

function measureMetrics(): void {
  const page = createMetrics({ service: 'bench' })
  const edge = edgeMetrics(page.of('edge'))
  const router = routerMetrics(page.of('router'))
  const quotaStatus = {} as never
  const decision = { kind: 'allow', quotaStatus, isTight: false } as const
  const usage = { promptTokens: 9, completionTokens: 3, cachedTokens: 0, reasoningTokens: 0, estimated: false }
  const endpoint = '/v1/chat/completions'
  const plain = () => {
    edge.admission(decision, 0.4)
    router.attempt('gpu-a', 'served', 12)
    router.job('spark', 'served')
    edge.tokens('svc-instant', usage)
    edge.added(endpoint, 1.1)
    edge.responseEnded(endpoint, 'svc-instant', 'ok', 13)
  }
  const rows = {
    'a plain request': nanosecondsOf(plain),
    "a streamed request's first token": nanosecondsOf(() => edge.firstToken('svc-instant', 100)),
    'a chunk': nanosecondsOf(() => router.chunk(0.2)),
    'a reading of /metrics': nanosecondsOf(() => page.text(), 1_000),
  }
  console.log('metrics, CPU')
  console.table(
    Object.fromEntries(Object.entries(rows).map(([what, ns]) => [what, { µs: Number((ns / 1e3).toFixed(3)) }])),
  )
}

/** The best of several, because others can only add to it. */
function nanosecondsOf(call: () => unknown, times = CALLS): number {
  const once = () => {
    const startedAt = process.hrtime.bigint()
    for (let turn = 0; turn < times; turn++) call()
    return Number(process.hrtime.bigint() - startedAt) / times
  }
  return Math.min(...Array.from({ length: 5 }, once))
}

async function measureTraces(rounds: number, seconds: number): Promise<void> {
  const stopping = new AbortController()
  await using collector = await startSink()
  const traced = (share: number): NodeJS.ProcessEnv => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(share),
  })
  const modes: Record<string, NodeJS.ProcessEnv> = { off: {}, 'on, 1 %': traced(0.01), 'on, 100 %': traced(1) }
  const seen = Object.fromEntries(Object.keys(modes).map((mode) => [mode, [] as Record<string, number>[]]))
  for (let round = 0; round < rounds; round++) {
    for (const [mode, environment] of Object.entries(modes)) {
      await using rig = await openRig(stopping.signal, { environment })
      await rig.run(PLAIN, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS })
      const { load, cpuMs } = await rig.costedRun(
        PLAIN,
        { connections: CONNECTIONS, seconds },
        ({ requests }) => requests,
      )
      seen[mode]!.push({
        all: sumOf(cpuMs),
        edge: sumOf(cpuMs, 'edge'),
        router: sumOf(cpuMs, 'router'),
        p50: load.latency.p50,
      })
    }
  }
  console.log(`traces, ms CPU per request, median of ${rounds} launches (least and most)`)
  const cell = (results: Record<string, number>[], column: string) => {
    const { median, min, max } = spreadOf(results.map((result) => result[column]!))!
    return `${median.toFixed(3)} (${min.toFixed(3)}–${max.toFixed(3)})`
  }
  console.table(
    Object.fromEntries(
      Object.entries(seen).map(([mode, results]) => [
        mode,
        Object.fromEntries(['all', 'edge', 'router', 'p50'].map((column) => [column, cell(results, column)])),
      ]),
    ),
  )
}

async function startSink(): Promise<{ endpoint: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
