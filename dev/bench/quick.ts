/**
 * `npm run bench -- quick`: a minute's look at the gateway alone. CPU per request and per chunk by process, and latency
 * at one connection. For working on the hot path; the published figures come from the other parts.
 */

import { loadavg } from 'node:os'
import { startBackend } from './harness/backend.ts'
import { costed, memoryNow, total, type ByProcess } from './harness/costs.ts'
import { runLoad, type Endpoint, type LoadOptions, type LoadResult, type Order } from './harness/load.ts'
import { compileNative } from './harness/native.ts'
import { launchGateway } from './subjects/gateway.ts'

export const PLAIN: Order = { stream: false, bytes: 700 }
export const STREAM: Order = { stream: true, chunks: 100, everyUs: 50_000, bytes: 20 }
const MOCK = 'mock backend'

export async function quick(signal: AbortSignal): Promise<void> {
  const programs = await compileNative()
  await using backend = await startBackend(programs.backend)
  await using gateway = await launchGateway(backend.port)
  const direct: Endpoint = { ports: [backend.port], path: '/v1/chat/completions', model: 'bench', headers: {} }
  const run = (endpoint: Endpoint, order: Order, options: LoadOptions) =>
    runLoad(programs.load, endpoint, order, { ...options, signal })
  const costs = async (order: Order, options: LoadOptions, countOf: (result: LoadResult) => number) => {
    const processes = { ...gateway.processes(), [MOCK]: backend.pid }
    const costing = await costed(processes, () => run(gateway.endpoint, order, options), countOf, signal)
    const { failed, firstFailure } = costing.result
    if (failed > 0) console.log(`${failed} failed, the first: ${firstFailure}`)
    return costing
  }

  console.log('warming up')
  await run(gateway.endpoint, PLAIN, { connections: 32, seconds: 6 })
  await run(gateway.endpoint, STREAM, { connections: 50, seconds: 1 })

  const plain = await costs(PLAIN, { connections: 32, seconds: 8 }, ({ requests }) => requests)
  const stream = await costs(
    STREAM,
    { connections: 300, seconds: 6, rampSeconds: 2, measureAfterSeconds: 2 },
    ({ chunks }) => chunks,
  )
  const low = await run(gateway.endpoint, PLAIN, { connections: 1, seconds: 4 })
  const floor = await run(direct, PLAIN, { connections: 1, seconds: 1 })

  const rate = plain.result.requests / plain.result.seconds
  console.log(
    `\nplain, 32 connections: ${Math.round(rate)} requests/s, p50 ${plain.result.latency.p50} ms, p99 ${plain.result.latency.p99} ms`,
  )
  console.log(
    `plain, 1 connection: p50 ${low.latency.p50} ms, p99 ${low.latency.p99} ms (backend direct: ${floor.latency.p50}, ${floor.latency.p99})`,
  )
  console.log(
    `300 streams, a chunk per 50 ms: lag p50 ${stream.result.lag.p50} ms, p99 ${stream.result.lag.p99} ms, ${stream.result.chunks} chunks`,
  )
  const memory = memoryNow({ ...gateway.processes(), [MOCK]: backend.pid })
  printCosts({ 'ms CPU per request': plain.cpuMs, 'ms CPU per chunk': stream.cpuMs, MB: memory })
  console.log(
    `load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
}

function printCosts(columns: Record<string, ByProcess>): void {
  const names = Object.keys(columns['ms CPU per request']!)
  const digits = (column: string) => (column === 'MB' ? 0 : 4)
  const row = (byProcess: (values: ByProcess) => number | undefined) =>
    Object.fromEntries(
      Object.entries(columns).map(([column, values]) => [column, Number(byProcess(values)?.toFixed(digits(column)))]),
    )
  const table = Object.fromEntries(names.map((name) => [name, row((values) => values[name])]))
  const { [MOCK]: mock, ...gateway } = table
  console.table({
    ...gateway,
    'all of the gateway': row((values) => total({ ...values, [MOCK]: 0 })),
    [MOCK]: mock,
  })
}
