/**
 * `npm run bench -- soak --minutes 60`: steady load for long, plain responses at a constant rate beside streams. It
 * looks for growth: memory, lag, the ledger's backlog. At the end the ledger is held against the clients' own count.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { memoryNow } from '../harness/costs.ts'
import type { LoadResult, Order } from '../harness/load.ts'
import { describeEnvironment, loadNow } from '../harness/machine.ts'
import { watchNeighbours } from '../harness/neighbours.ts'
import { writeResult } from '../harness/results.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { openRig } from '../scale/rig.ts'
import { reportSoak } from './report.ts'
import { isExact, type Audit, type SoakResult } from './soak-result.ts'

const PART = 'soak'
const PLAIN: Order = { stream: false, bytes: 700 }
const STREAM: Order = { stream: true, chunks: 100, everyUs: 50_000, bytes: 20 }
/** The tokens that the backend reports for these two. */
const PLAIN_TOKENS = 176
const STREAM_TOKENS = 100
const STREAMS = 50
/** A share of the gateway's capacity: a load to live with. */
const SHARE_OF_CAPACITY = 0.25
const DRAIN_SECONDS = 30
const SAMPLES_MOST = 60
const SLICE_LEAST_SECONDS = 10
const LEDGER_WAIT_MS = 60_000

export interface SoakOptions {
  minutes: number
  signal: AbortSignal
  say(line: string): void
}

export async function soak({ minutes, signal, say }: SoakOptions): Promise<void> {
  await using rig = await openRig(signal)
  await using database = await openDatabase(rig.gateway.cluster.servers.postgres.url)
  const count = new Count()
  // Every client waits for the end of its response: a response without a reader would stand in the ledger alone.
  const plain = async (options: { connections: number; seconds: number; rate?: number }) =>
    count.plain(await rig.run(PLAIN, { ...options, drainSeconds: DRAIN_SECONDS }))

  const probe = await plain({ connections: 32, seconds: 10 })
  const rate = Math.round((SHARE_OF_CAPACITY * probe.requests) / probe.seconds)
  const result: SoakResult = {
    environment: describeEnvironment(),
    minutes,
    rate,
    streams: STREAMS,
    loadBefore: loadNow(),
    loadAfter: 0,
    othersShare: 0,
    samples: [],
  }
  say(`soak: ${rate} plain answers a second beside ${STREAMS} streams, for ${minutes} minutes`)
  const others = watchNeighbours()
  const beganAtMs = Date.now()
  const seconds = Math.max(SLICE_LEAST_SECONDS, (minutes * 60) / SAMPLES_MOST)
  while (Date.now() - beganAtMs < minutes * 60_000) {
    const streaming = rig.run(STREAM, { connections: STREAMS, seconds, rampSeconds: 2, drainSeconds: DRAIN_SECONDS })
    const [load, streams] = await Promise.all([plain({ connections: 64, seconds, rate }), streaming])
    count.streams(streams)
    result.samples.push({
      minute: (Date.now() - beganAtMs) / 60_000,
      memoryMb: memoryNow(rig.gateway.processes()),
      latencyP50: load.latency.p50,
      latencyP99: load.latency.p99,
      lagP99: streams.lag.p99,
      behind: count.completed - (await rowsOf(database)),
      failed: load.failed + load.unfinished + streams.failed + streams.unfinished,
    })
    result.loadAfter = loadNow()
    result.othersShare = others()
    await writeResult(PART, result)
    sayHow(result, say)
  }
  result.audit = await audit(database, count, signal)
  await writeResult(PART, result)
  await writeIntoReadme(PART, reportSoak(result))
  say(`  ${JSON.stringify(result.audit)}`)
  if (!isExact(result.audit)) throw new Error('the ledger is not what the clients counted')
}

/** Counts the whole responses of clients. */
class Count {
  completed = 0
  expectedTokens = 0
  failed = 0
  firstFailure = ''

  plain(load: LoadResult): LoadResult {
    return this.#add(load, PLAIN_TOKENS)
  }

  streams(load: LoadResult): LoadResult {
    return this.#add(load, STREAM_TOKENS)
  }

  #add(load: LoadResult, tokens: number): LoadResult {
    const complete = load.requests - load.failed + load.broken
    this.completed += complete
    this.expectedTokens += complete * tokens
    this.failed += load.failed + load.unfinished
    this.firstFailure ||= load.firstFailure
    return load
  }
}

async function audit(database: Database, count: Count, signal: AbortSignal): Promise<Audit> {
  const deadlineAtMs = Date.now() + LEDGER_WAIT_MS
  while ((await rowsOf(database)) < count.completed && Date.now() < deadlineAtMs)
    await sleep(200, undefined, { signal })
  const { rows } = await database.query<{ rows: number; tokens: number; charges: number; windowTotal: number }>(
    `select count(*) as rows, coalesce(sum(completion_tokens), 0)::bigint as tokens,
       coalesce(sum(charge), 0)::bigint as charges,
       (select coalesce(sum(milli_tokens), 0)::bigint from metering.windows) as "windowTotal"
     from metering.ledger`,
  )
  const { completed, expectedTokens, failed, firstFailure } = count
  return { completed, expectedTokens, failed, firstFailure, ...rows[0]! }
}

/** From the sums that the database keeps beside the ledger, so that the query costs nothing. */
async function rowsOf(database: Database): Promise<number> {
  const { rows } = await database.query<{ rows: number }>(
    'select coalesce(sum(requests), 0)::bigint as rows from metering.daily_usage',
  )
  return rows[0]!.rows
}

function sayHow({ samples }: SoakResult, say: (line: string) => void): void {
  const { minute, memoryMb, latencyP99, lagP99, behind, failed } = samples.at(-1)!
  const memory = ['edge-1', 'router-1'].map((name) => `${name} ${memoryMb[name]?.toFixed(0)} MB`).join(', ')
  const timing = `p99 ${latencyP99.toFixed(1)} ms, lag p99 ${lagP99.toFixed(1)} ms`
  say(`  minute ${minute.toFixed(1)}: ${memory}; ${timing}; ${behind} not yet in the ledger; ${failed} failed`)
}
