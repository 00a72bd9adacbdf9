/**
 * From the cost of one request and one chunk on one machine to the size of a deployment, and which part is full first.
 *
 * Pure and linear: a process that is busier batches more and costs less per piece, so the real need is rather smaller.
 */

import { figure, table } from './markdown.ts'

export interface UnitCosts {
  /** CPU milliseconds by process: `edge-1`, `redis`, … */
  perRequestMs: Record<string, number>
  perChunkMs: Record<string, number>
  /** Rows that one PostgreSQL records per second, with this many already there. */
  ledger?: { rowsPerSecond: number; held: number }
}

interface Part {
  name: string
  /** Which processes it is, by the beginning of their names. */
  process: string
  /** Cores that one instance can use. */
  coresEach: number
  growsBy: string
}

const PARTS: Part[] = [
  { name: 'edge', process: 'edge', coresEach: 1, growsBy: 'more of them: no state' },
  { name: 'router', process: 'router', coresEach: 1, growsBy: "more of them: health of backends is each one's own" },
  {
    name: 'Redis',
    process: 'redis',
    coresEach: 1,
    growsBy: 'Redis Cluster: all keys of an account share a hash tag, one call touches one account',
  },
  { name: 'NATS', process: 'nats', coresEach: 4, growsBy: 'a cluster of servers; edges and routers connect to any' },
  { name: 'metering', process: 'metering', coresEach: 1, growsBy: 'more of them on the same durable consumer' },
  { name: 'PostgreSQL', process: 'postgres', coresEach: 16, growsBy: 'a larger machine: one primary holds the ledger' },
  { name: 'keys', process: 'keys', coresEach: 1, growsBy: 'more of them' },
]

const LOADS = [100, 1_000, 10_000, 100_000]
const CHUNKS_PER_RESPONSE = 200
/** The planned load of a process, of its capacity. */
const UTILISATION = 0.6

export interface Limit {
  name: string
  /** Requests per second of one instance as full as is planned. */
  perSecond: number
  why: string
}

/** The parts of which there is one unless something is done about it, the first to be full first. */
export function limitsOfOne(costs: UnitCosts): Limit[] {
  const singles = PARTS.filter(({ process }) => ['redis', 'nats', 'postgres', 'metering'].includes(process))
  const byCpu = singles.map(({ name, process, coresEach }) => {
    const ms =
      sumOf(costs.perRequestMs, process) +
      (process === 'nats' ? CHUNKS_PER_RESPONSE * sumOf(costs.perChunkMs, process) : 0)
    const cores = coresEach === 1 ? 'one core' : `${coresEach} cores`
    return {
      name,
      perSecond: (UTILISATION * coresEach * 1_000) / ms,
      why: `${figure(ms)} ms CPU per request, ${cores}`,
    }
  })
  const { ledger } = costs
  const byRows = ledger && {
    name: 'the ledger',
    perSecond: UTILISATION * ledger.rowsPerSecond,
    why: `${figure(ledger.rowsPerSecond)} rows recorded per second by one metering process with ${ledger.held.toLocaleString('en-US')} held`,
  }
  return [...byCpu, ...(byRows ? [byRows] : [])]
    .filter(({ perSecond }) => Number.isFinite(perSecond))
    .sort((a, b) => a.perSecond - b.perSecond)
}

export function describeBackends(costs: UnitCosts): string {
  const [first, second] = limitsOfOne(costs)
  return [
    first &&
      `**The first bottleneck is ${first.name}**: at ${figure(first.perSecond)} streamed requests a second it is ${UTILISATION * 100} % full (${first.why}).` +
        (second ? ` Next is ${second.name}, at ${figure(second.perSecond)} (${second.why}).` : ''),
    `Processes needed, each planned to be ${UTILISATION * 100} % full, when every response is a stream of ${CHUNKS_PER_RESPONSE} chunks:`,
    table(
      [
        'requests per second',
        ...LOADS.map((load) => load.toLocaleString('en-US')),
        'CPU ms per request',
        'CPU µs per chunk',
        'grows by',
      ],
      PARTS.map((part) => rowOf(part, costs)),
    ),
  ]
    .filter(Boolean)
    .join('\n\n')
}

function rowOf({ name, process, coresEach, growsBy }: Part, costs: UnitCosts): string[] {
  const [request, chunk] = [sumOf(costs.perRequestMs, process), sumOf(costs.perChunkMs, process)]
  const ms = request + CHUNKS_PER_RESPONSE * chunk
  const instances = (load: number) => Math.ceil((load * ms) / 1_000 / UTILISATION / coresEach)
  const each = coresEach === 1 ? '' : ` × ${coresEach} cores`
  return [
    name,
    ...LOADS.map((load) => `${instances(load).toLocaleString('en-US')}${each}`),
    figure(request),
    figure(chunk * 1_000),
    growsBy,
  ]
}

function sumOf(byProcess: Record<string, number>, process: string): number {
  return Object.entries(byProcess).reduce((sum, [name, value]) => (name.startsWith(process) ? sum + value : sum), 0)
}
