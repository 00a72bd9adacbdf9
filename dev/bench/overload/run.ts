/**
 * `npm run bench -- overload`: the gateway's output when more goes in than the machine holds. Requests are due at a
 * fixed rate of 1, 2, 3 and 5 times the capacity, and every client waits two seconds at most. Then three thousand
 * streams within two seconds. One edge, one router, each launch afresh. The load has a core of its own. A generator on
 * the gateway's cores would take its load beyond the capacity from the gateway, and be late itself.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { confine, shareCores } from '../harness/cores.ts'
import { runLoad, type LoadOptions, type LoadResult, type Order } from '../harness/load.ts'
import { describeEnvironment, loadNow } from '../harness/machine.ts'
import { compileNative } from '../harness/native.ts'
import { watchNeighbours } from '../harness/neighbours.ts'
import { readResult, writeResult } from '../harness/results.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { openRig, PLAIN } from '../scale/rig.ts'
import { goodputShare, overloadResult, type Level, type OverloadResult, type Streams } from './overload-result.ts'
import { reportOverload } from './report.ts'

const PART = 'overload'
/** Kept by hand from a run of this very part on the code before the gateway shed anything. */
const PART_BEFORE = 'overload-before'
const TIMES = [1, 2, 3, 5]
const SECONDS = 12
const TIMEOUT_SECONDS = 2
/** More than are busy while the gateway keeps up. A client that finds none free gives up at once. */
const CONNECTIONS = 4_000
/** The most that the gateway takes on at once without refusing any. A load on more connections costs it more per request. */
const CLOSED_CONNECTIONS = 512
/** Until the engine has compiled the hot path of every process; five seconds found half of the later capacity. */
const WARM_UP_SECONDS = 30
const CLOSED_SECONDS = 6
const STREAMS = 3_000
/** Connections are there before the overload, as those of real clients are: opened over this time, then used. */
const RAMP_SECONDS = 2
/** The rest of one load is over before the next begins. */
const REST_MS = 4_000

export interface OverloadOptions {
  rounds: number
  fresh: boolean
  deadlineMs: number
  signal: AbortSignal
  say(line: string): void
}

export async function overload({ rounds, fresh, deadlineMs, signal, say }: OverloadOptions): Promise<void> {
  const result = await begin(fresh)
  const cores = shareCores()
  while (result.launches.length < rounds) {
    if (Date.now() > deadlineMs) return say('the time is up; the same command goes on from here')
    signal.throwIfAborted()
    const [loadBefore, others] = [loadNow(), watchNeighbours()]
    const { load: program } = await compileNative()
    // The children of this process stay on its cores.
    await confine(process.pid, cores.gateway)
    await using rig = await openRig(signal)
    for (const pid of [process.pid, rig.backend.pid]) await confine(pid, cores.load)
    // A load of which nothing came whole is a result here.
    const run: Run = (order, options) => runLoad(program, rig.gateway.endpoint, order, { ...options, signal })
    await warmUp(run)
    const capacity = await measureCapacity(run, signal)
    say(`overload: capacity ${capacity.toFixed(0)} requests/s`)
    // Connections by the thousand make a process grow once. Its rate meanwhile is not its rate afterwards.
    await measureLevel(run, 1, capacity, signal)
    const levels: Level[] = []
    let before = await measureCapacity(run, signal)
    for (const times of TIMES) {
      const { generatorLateMs, ...measured } = await measureLevel(run, times, times * before, signal)
      const after = await measureCapacity(run, signal)
      const level = { ...measured.level, capacity: (before + after) / 2 }
      before = after
      levels.push(level)
      const { goodput, p99, refused, gaveUp } = level
      const shares = `${percent(refused)} refused, ${percent(gaveUp)} gave up`
      const own = `the generator's own p99 of lateness ${generatorLateMs.toFixed(1)} ms`
      const ratio = `${goodputShare(level, capacity).toFixed(2)} of ${level.capacity.toFixed(0)}`
      say(
        `  ${times} times: ${goodput.toFixed(0)} whole a second (${ratio}), p99 ${p99.toFixed(0)} ms, ${shares}; ${own}`,
      )
    }
    const streams = await measureStreams(run, signal)
    say(`  ${STREAMS} streams: ${streams.complete} whole, ${streams.refused} refused, ${streams.broken} broken`)
    result.launches.push({ capacity, levels, streams, loadBefore, loadAfter: loadNow(), othersShare: others() })
    await writeResult(PART, result)
    await writeIntoReadme(PART, reportOverload(result, await readResult(PART_BEFORE, overloadResult)))
  }
}

async function begin(fresh: boolean): Promise<OverloadResult> {
  const environment = describeEnvironment()
  const earlier = await readResult(PART, overloadResult)
  const isSame = earlier?.environment.code === environment.code && earlier.environment.machine === environment.machine
  return isSame && !fresh ? earlier : { environment, launches: [] }
}

type Run = (order: Order, options: LoadOptions) => Promise<LoadResult>

async function warmUp(run: Run): Promise<void> {
  await run(PLAIN, { connections: 32, seconds: WARM_UP_SECONDS })
  await run({ stream: true, chunks: 20, everyUs: 50_000, bytes: 20 }, { connections: 50, seconds: 1 })
}

async function measureCapacity(run: Run, signal: AbortSignal): Promise<number> {
  await sleep(REST_MS, undefined, { signal })
  const { latency, seconds } = await run(PLAIN, { connections: CLOSED_CONNECTIONS, seconds: CLOSED_SECONDS })
  return latency.count / seconds
}

async function measureLevel(run: Run, times: number, offered: number, signal: AbortSignal) {
  await sleep(REST_MS, undefined, { signal })
  const load = await run(PLAIN, {
    connections: CONNECTIONS,
    seconds: SECONDS,
    rate: offered,
    rampSeconds: RAMP_SECONDS,
    timeoutSeconds: TIMEOUT_SECONDS,
    drainSeconds: TIMEOUT_SECONDS + 1,
  })
  const due = offered * SECONDS
  const { latency, impatient } = load
  const level: Level = {
    times,
    offered,
    goodput: latency.count / SECONDS,
    p50: latency.p50,
    p99: latency.p99,
    refused: refusalsOf(load) / due,
    refusalP99: load.refusal.p99,
    gaveUp: impatient / due,
    errors: load.failed - refusalsOf(load),
  }
  return { level, generatorLateMs: load.ownLate.p99 }
}

async function measureStreams(run: Run, signal: AbortSignal): Promise<Streams> {
  await sleep(REST_MS, undefined, { signal })
  // One on each connection.
  const order = { stream: true, chunks: 140, everyUs: 50_000, bytes: 20 }
  const rampSeconds = 2
  const load = await run(order, {
    connections: STREAMS,
    rate: STREAMS / rampSeconds,
    seconds: rampSeconds,
    drainSeconds: 20,
  })
  const complete = load.requests - load.failed + load.broken
  const refused = refusalsOf(load)
  return {
    requested: STREAMS,
    complete,
    refused,
    refusalP99: load.refusal.p99,
    broken: STREAMS - complete - refused,
    lagP99: load.lag.p99,
  }
}

function refusalsOf({ refusal }: LoadResult): number {
  return refusal.count
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}
