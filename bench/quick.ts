/**
 * `npm run bench -- quick`: a minute's look at the gateway alone. CPU per request and per chunk by process, and latency
 * at one connection. For working on the hot path; the published figures come from the other parts.
 */

import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { startBackend } from './harness/backend.ts'
import { cpuNow, cpuSince, memoryNow, total, type ByProcess } from './harness/costs.ts'
import { runLoad, type Door, type LoadOptions, type LoadResult, type Order } from './harness/load.ts'
import { compileNative } from './harness/native.ts'
import { launchGateway } from './subjects/gateway.ts'

const PLAIN: Order = { stream: false, bytes: 700 }
const STREAM: Order = { stream: true, chunks: 100, everyUs: 50_000, bytes: 20 }
/** What was reported durably is recorded by then. */
const SETTLE_MS = 1_500

export async function quick(): Promise<void> {
  const programs = await compileNative()
  await using backend = await startBackend(programs.backend)
  await using gateway = await launchGateway(backend.port)
  const direct: Door = { ports: [backend.port], path: '/v1/chat/completions', model: 'bench', headers: {} }
  const run = (door: Door, order: Order, options: LoadOptions) => runLoad(programs.load, door, order, options)
  const costed = async (order: Order, options: LoadOptions, countOf: (result: LoadResult) => number) => {
    const processes = { ...gateway.processes(), 'mock backend': backend.pid }
    const before = cpuNow(processes)
    const result = await run(gateway.door, order, options)
    await sleep(SETTLE_MS)
    if (result.failed > 0) console.log(`${result.failed} failed, the first: ${result.firstFailure}`)
    return { result, cpu: cpuSince(before, processes, countOf(result)) }
  }

  console.log('warming up')
  await run(gateway.door, PLAIN, { connections: 32, seconds: 6 })
  await run(gateway.door, STREAM, { connections: 50, seconds: 1 })

  const plain = await costed(PLAIN, { connections: 32, seconds: 8 }, ({ requests }) => requests)
  const stream = await costed(
    STREAM,
    { connections: 300, seconds: 6, rampSeconds: 2, measureAfterSeconds: 2 },
    ({ chunks }) => chunks,
  )
  const low = await run(gateway.door, PLAIN, { connections: 1, seconds: 4 })
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
  const memory = memoryNow({ ...gateway.processes(), 'mock backend': backend.pid })
  printCosts({ 'ms CPU per request': plain.cpu, 'ms CPU per chunk': stream.cpu, MB: memory })
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
  const { 'mock backend': mock, ...gateway } = table
  console.table({
    ...gateway,
    'all of the gateway': row((values) => total({ ...values, 'mock backend': 0 })),
    'mock backend': mock,
  })
}
