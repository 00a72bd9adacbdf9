/**
 * `npm run bench -- ways`: CPU of a request by the Messages and the Responses API, translated and passed through, over that
 * of the same request by chat. One gateway; the ways take turns, so a machine that drifts does so for all.
 */

import { startBackend } from './harness/backend.ts'
import { costed, total } from './harness/costs.ts'
import { runLoad, type Door, type LoadOptions, type Order } from './harness/load.ts'
import { compileNative } from './harness/native.ts'
import { spreadOf } from './harness/statistics.ts'
import { PLAIN } from './quick.ts'
import { laneOf, launchGateway } from './subjects/gateway.ts'

/** Short, so that whole streams are counted and not their chunks: a response repeats its text at its end. */
const SHORT_STREAM: Order = { stream: true, chunks: 50, everyUs: 1_000, bytes: 20 }
const LOAD: LoadOptions = { connections: 32, seconds: 4 }
const WARM_UP: LoadOptions = { connections: 32, seconds: 3 }

interface Way {
  name: string
  order: Order
  door: Pick<Door, 'path' | 'dialect'> & { model?: string }
  /** By whose name its cost is compared. */
  over: string | null
}

const chat = { path: '/v1/chat/completions' }
const messages = { path: '/v1/messages', dialect: 'messages' } as const
const responses = { path: '/v1/responses', dialect: 'responses' } as const
const WAYS: Way[] = [
  { name: 'chat', order: PLAIN, door: chat, over: null },
  { name: 'messages, translated', order: PLAIN, door: messages, over: 'chat' },
  { name: 'responses, translated', order: PLAIN, door: responses, over: 'chat' },
  { name: 'messages, passed through', order: PLAIN, door: { ...messages, model: laneOf('messages') }, over: 'chat' },
  { name: 'responses, passed through', order: PLAIN, door: { ...responses, model: laneOf('responses') }, over: 'chat' },
  { name: 'chat, 50 chunks', order: SHORT_STREAM, door: chat, over: null },
  { name: 'messages, translated, 50 chunks', order: SHORT_STREAM, door: messages, over: 'chat, 50 chunks' },
  { name: 'responses, translated, 50 chunks', order: SHORT_STREAM, door: responses, over: 'chat, 50 chunks' },
]

export async function ways(rounds: number, signal: AbortSignal, say: (line: string) => void): Promise<void> {
  const programs = await compileNative()
  await using backend = await startBackend(programs.backend)
  await using gateway = await launchGateway(backend.port, { dialects: ['messages', 'responses'] })
  const run = async ({ name, door, order }: Way, options: LoadOptions) => {
    const result = await runLoad(programs.load, { ...gateway.door, ...door }, order, { ...options, signal })
    if (result.failed > 0) throw new Error(`${name}: ${result.failed} failed, the first: ${result.firstFailure}`)
    return result
  }
  for (const way of WAYS) await run(way, WARM_UP)

  const taken = new Map<string, number[]>(WAYS.map(({ name }) => [name, []]))
  for (let round = 1; round <= rounds * 2; round++) {
    for (const way of round % 2 === 1 ? WAYS : WAYS.toReversed()) {
      say(`turn ${round} of ${rounds * 2}: ${way.name}`)
      const { cpuMs } = await costed(
        gateway.processes(),
        () => run(way, LOAD),
        ({ requests }) => requests,
        signal,
      )
      taken.get(way.name)!.push(total(cpuMs) * 1_000)
    }
  }
  const table = WAYS.map(({ name, over }) => {
    const costs = taken.get(name)!
    const ratio = over === null ? null : spreadOf(costs.map((cost, turn) => cost / taken.get(over)![turn]!))!
    return [name, { 'µs per request': Math.round(spreadOf(costs)!.median), ...(ratio && ratioColumns(ratio)) }]
  })
  console.table(Object.fromEntries(table))
}

function ratioColumns({ median, min, max }: { median: number; min: number; max: number }) {
  const rounded = (value: number) => Number(value.toFixed(3))
  return { 'over chat': rounded(median), lowest: rounded(min), highest: rounded(max) }
}
