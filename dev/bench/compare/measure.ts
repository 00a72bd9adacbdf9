/**
 * Measures one launch of one subject, step by step, on a backend of its own.
 *
 * Every subject gets the same warm-up, the same requests and the same time. Each comparison with the backend direct
 * uses a direct measurement in the same minute, against the same backend process.
 */

import { startBackend, type Backend } from '../harness/backend.ts'
import { costed, memoryNow, untilQuiet } from '../harness/costs.ts'
import { runLoad, type Endpoint, type LoadOptions, type LoadResult, type Order } from '../harness/load.ts'
import { loadNow } from '../harness/machine.ts'
import type { NativePrograms } from '../harness/native.ts'
import { watchNeighbours } from '../harness/neighbours.ts'
import { CHAT_PATH, type Launched, type Prepared } from '../subjects/subject.ts'
import type { LaunchResult, StreamLevel } from './launch-result.ts'

export type Step = 'plain' | 'latency' | 'stream'

export interface Measuring {
  programs: NativePrograms
  steps: Step[]
  /** The backend's; 0: any. */
  backendPort: number
  signal: AbortSignal
  say(line: string): void
}

/** A response of about 1 KB. */
const PLAIN: Order = { stream: false, bytes: 700 }
const SHORT_STREAM: Order = { stream: true, chunks: 10, everyUs: 1_000, bytes: 20 }
const LONG_STREAM: Order = { stream: true, chunks: 140, everyUs: 50_000, bytes: 20 }

const CONNECTIONS = 32
const OPEN_LOOP_CONNECTIONS = 64
const WARM_UP_SECONDS = 6
const PLAIN_SECONDS = 8
const LOW_SECONDS = 5
const HALF_SECONDS = 8
const RAMP_SECONDS = 2
const STREAM_LEVELS = [100, 300, 600, 1_000, 1_500, 2_000, 3_000]
/** A level is held when every stream came whole and this is the most that one chunk in a hundred lagged. */
export const HELD_LAG_P99_MS = 50
/** The backend direct, or the backend itself, this late: the machine stood still, and the measurement is taken again. */
const STALL_P99_MS = 10
const TRIES_OF_A_STALL = 2
const MOCK = 'mock backend'

export async function measureLaunch(
  name: string,
  round: number,
  prepared: Prepared,
  measuring: Measuring,
): Promise<LaunchResult> {
  const { programs, steps, backendPort, signal, say } = measuring
  const othersShare = watchNeighbours()
  await using backend = await startBackend(programs.backend, backendPort)
  await using launched = await prepared.launch(backend.port, signal)
  const direct: Endpoint = { ports: [backend.port], path: CHAT_PATH, model: 'bench', headers: {} }
  const run = (endpoint: Endpoint, order: Order, options: LoadOptions) =>
    runLoad(programs.load, endpoint, order, { ...options, signal })
  const at: Bench = { backend, launched, direct, signal, run }

  const result: LaunchResult = {
    subject: name,
    round,
    takenAt: new Date().toISOString(),
    loadBefore: loadNow(),
    loadAfter: 0,
    othersShare: 0,
    memoryMb: { started: memoryNow(launched.processes()), loaded: {} },
  }
  const first = await run(launched.endpoint, PLAIN, { connections: 1, seconds: 0.2 })
  if (first.failed > 0) throw new Error(`${name} does not answer: ${first.firstFailure}`)
  await run(launched.endpoint, PLAIN, { connections: CONNECTIONS, seconds: WARM_UP_SECONDS })
  await run(launched.endpoint, SHORT_STREAM, { connections: 10, seconds: 1 })

  if (steps.includes('plain')) {
    result.plain = await measurePlain(at)
    say(`  plain: ${Math.round(result.plain.perSecond)} requests/s`)
  }
  if (steps.includes('latency')) {
    Object.assign(result, await measureLatency(at, result.plain?.perSecond))
    say(
      `  one connection: p50 ${result.low!.through.p50.toFixed(2)} ms, direct ${result.low!.direct.p50.toFixed(2)} ms`,
    )
  }
  if (steps.includes('stream')) {
    result.firstContent = await pair(
      at,
      SHORT_STREAM,
      { connections: 1, seconds: LOW_SECONDS },
      (load) => load.firstByte,
    )
    result.streams = await measureStreams(at, say)
  }
  result.memoryMb.loaded = memoryNow(launched.processes())
  result.loadAfter = loadNow()
  result.othersShare = othersShare()
  return result
}

interface Bench {
  backend: Backend
  launched: Launched
  direct: Endpoint
  signal: AbortSignal
  run(endpoint: Endpoint, order: Order, options: LoadOptions): Promise<LoadResult>
}

async function measurePlain(at: Bench) {
  const before = await at.backend.counts()
  const { load, cpuMs, backendCpuMs } = await costedOf(
    at,
    () => at.run(at.launched.endpoint, PLAIN, { connections: CONNECTIONS, seconds: PLAIN_SECONDS }),
    ({ requests }) => requests,
  )
  const { requests, seconds, failed, firstFailure, latency } = load
  const served = (await at.backend.counts()).plain - before.plain
  if (served < requests - failed) throw new Error(`${requests - failed} answers, of which the backend gave ${served}`)
  const perSecond = requests / seconds
  return { connections: CONNECTIONS, requests, perSecond, failed, firstFailure, latency, cpuMs, backendCpuMs }
}

async function measureLatency(at: Bench, known: number | undefined) {
  const perSecond = known ?? (await measurePlain(at)).perSecond
  const low = await pair(at, PLAIN, { connections: 1, seconds: LOW_SECONDS })
  // Above half of the backend's own capacity this machine cannot send requests evenly.
  if (at.launched.endpoint.ports.includes(at.backend.port)) return { low }
  const rate = Math.max(1, Math.round(perSecond / 2))
  const half = await pair(at, PLAIN, { connections: OPEN_LOOP_CONNECTIONS, seconds: HALF_SECONDS, rate })
  return { low, half: { rate, ...half } }
}

async function pair(at: Bench, order: Order, options: LoadOptions, pick = (load: LoadResult) => load.latency) {
  let [direct, through] = [await at.run(at.direct, order, options), await at.run(at.launched.endpoint, order, options)]
  for (let again = 0; again < TRIES_OF_A_STALL && pick(direct).p99 > STALL_P99_MS; again++) {
    direct = await at.run(at.direct, order, options)
    through = await at.run(at.launched.endpoint, order, options)
  }
  return { direct: pick(direct), through: pick(through), failed: through.failed }
}

async function measureStreams(at: Bench, say: (line: string) => void): Promise<StreamLevel[]> {
  const levels: StreamLevel[] = []
  for (const streams of STREAM_LEVELS) {
    await untilQuiet(at.launched.processes(), at.signal)
    let level = await measureLevel(at, streams)
    for (let again = 0; again < TRIES_OF_A_STALL && !isHeld(level) && isStalled(level); again++) {
      level = await measureLevel(at, streams)
    }
    levels.push(level)
    say(`  ${streams} streams: lag p99 ${level.lag.p99.toFixed(1)} ms, ${level.failed} failed`)
    if (!isHeld(level)) break
  }
  return levels
}

/** The machine stood still: the backend itself was late, which says nothing of the subject. */
function isStalled({ backendLateP99, failed }: StreamLevel): boolean {
  return failed === 0 && backendLateP99 > STALL_P99_MS
}

export function isHeld({ lag, failed }: StreamLevel): boolean {
  return failed === 0 && lag.p99 < HELD_LAG_P99_MS
}

/**
 * All streams begin within the ramp, each for seven seconds. Chunks count from the begin of the last stream until the
 * first end.
 */
async function measureLevel(at: Bench, streams: number): Promise<StreamLevel> {
  await at.backend.counts()
  const options = { connections: streams, seconds: RAMP_SECONDS, rampSeconds: RAMP_SECONDS, drainSeconds: 15 }
  const { load, cpuMs, backendCpuMs } = await costedOf(
    at,
    () => at.run(at.launched.endpoint, LONG_STREAM, { ...options, measureAfterSeconds: RAMP_SECONDS }),
    ({ chunks }) => chunks,
  )
  const { lateness } = await at.backend.counts()
  const { chunks, lag, firstFailure } = load
  const failed = load.failed + load.unfinished + load.refused
  return { streams, chunks, failed, firstFailure, lag, backendLateP99: lateness.p99, cpuMs, backendCpuMs }
}

/** The backend's own cost apart. */
async function costedOf(
  { launched, backend, signal }: Bench,
  work: () => Promise<LoadResult>,
  countOf: (load: LoadResult) => number,
) {
  const processes = { ...launched.processes(), [MOCK]: backend.pid }
  const { result: load, cpuMs } = await costed(processes, work, countOf, signal)
  const { [MOCK]: backendCpuMs = 0, ...own } = cpuMs
  return { load, cpuMs: own, backendCpuMs }
}
