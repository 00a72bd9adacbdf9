/**
 * `npm run bench -- receipts`: the CPU of a request with a receipt, over that of the same request without one. Both take
 * turns in one launch, so that a machine that drifts does so for both.
 */

import { loadavg } from 'node:os'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import { startBackend } from './harness/backend.ts'
import { costed, total } from './harness/costs.ts'
import { runLoad, type LoadResult, type Order } from './harness/load.ts'
import { compileNative } from './harness/native.ts'
import { spreadOf } from './harness/statistics.ts'
import { PLAIN } from './quick.ts'
import { launchGateway } from './subjects/gateway.ts'

/** Short, so that complete streams are counted. */
const STREAM: Order = { stream: true, chunks: 50, everyUs: 1_000, bytes: 20 }
const ORDERS: Record<string, Order> = { plain: PLAIN, 'a stream of 50 chunks': STREAM }
const LOAD = { connections: 32, seconds: 3 }
const KINDS = ['without', 'with'] as const

export async function receipts({ rounds, signal }: { rounds: number; signal: AbortSignal }): Promise<void> {
  const programs = await compileNative()
  await using backend = await startBackend(programs.backend)
  await using gateway = await launchGateway(backend.port)
  const { headers } = gateway.endpoint
  const endpoints = {
    without: gateway.endpoint,
    with: { ...gateway.endpoint, headers: { ...headers, [RECEIPT_HEADER]: '1' } },
  }

  async function cpuMsOf(order: Order, kind: (typeof KINDS)[number]): Promise<number> {
    const load = (): Promise<LoadResult> => runLoad(programs.load, endpoints[kind], order, { ...LOAD, signal })
    const { result, cpuMs } = await costed(gateway.processes(), load, ({ requests }) => requests, signal)
    if (result.failed > 0) throw new Error(`${result.failed} failed, the first: ${result.firstFailure}`)
    return total(cpuMs)
  }

  for (const [name, order] of Object.entries(ORDERS)) {
    for (const kind of KINDS) await cpuMsOf(order, kind)
    const measured = { without: [] as number[], with: [] as number[] }
    for (let round = 0; round < rounds; round++) {
      for (const kind of KINDS) measured[kind].push(await cpuMsOf(order, kind))
    }
    const ratio = spreadOf(measured.with.map((cost, round) => cost / measured.without[round]!))!
    const [without, withReceipt] = KINDS.map((kind) => spreadOf(measured[kind])!.median.toFixed(3))
    const spread = `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`
    console.log(`${name}: ${without} ms CPU per request without, ${withReceipt} with; ratio ${spread}`)
  }
  console.log(
    `load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
}
