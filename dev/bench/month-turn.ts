/**
 * `npm run bench -- month-turn`: many accounts send requests at a steady rate. For each it is the first request in a
 * new month, or the first since Redis has forgotten everything. The clocks of Redis and of all services are moved to
 * seconds before the month's end; then it turns by itself.
 */

import { chmod, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openRedisAdmission } from '@gateway/admission/redis'
import { openDatabase } from '@gateway/postgres/database'
import { keepMasterSecret } from '@gateway/local/master-secret-file'
import { commandRedis } from '@gateway/testing/redis-command'
import { scrapeCluster } from '@gateway/cluster/scrape'
import { deriveMasterKeys } from '../../services/keys/src/core/master-keys.ts'
import type { LoadResult } from './harness/load.ts'
import { describeEnvironment, loadNow } from './harness/machine.ts'
import { compileClock } from './harness/native.ts'
import { watchNeighbours } from './harness/neighbours.ts'
import { describeTaking, figure, table } from './report/markdown.ts'
import { writeIntoReadme } from './report/pages.ts'
import { makeKeys, store, fillStore } from './scale/keys.ts'
import { openRig, PLAIN, type Rig } from './scale/rig.ts'

const PART = 'month-turn'
const CHUNK = 2_000
const CONNECTIONS = 256
const WARM_UP_SECONDS = 20
const SECONDS = 15
/** The turn, and the loss of Redis' data, comes when a step has run for so long. */
const INTO_MS = 3_000
/** No key of Redis is to expire by the jump. */
const WAIT_BEFORE_END_S = 3_600

interface Options {
  accounts: number
  rate: number
  signal: AbortSignal
  say(line: string): void
}

export async function monthTurn({ accounts, rate, signal, say }: Options): Promise<void> {
  await using clock = await shiftedClock()
  clock.set(secondsToMonthEnd() - WAIT_BEFORE_END_S)
  await using rig = await clock.around(() => openRig(signal, { accounts: 1 }))
  say(`making ${accounts} accounts`)
  const tokens = await fillAccounts(rig, accounts, signal)
  const endpoint = { ...rig.gateway.endpoint, tokens }
  const load = { connections: CONNECTIONS, rate }
  const rows: Row[] = []
  const [loadBefore, othersShare] = [loadNow(), watchNeighbours()]
  const step = async (name: string, happens: () => Promise<unknown> = async () => {}): Promise<void> => {
    const before = await countCalls(rig)
    const [result] = await Promise.all([rig.run(PLAIN, { ...load, seconds: SECONDS }, endpoint), happens()])
    const after = await countCalls(rig)
    rows.push({ name, result, fills: after.fills - before.fills, warms: after.warms - before.warms })
    say(
      `  ${name}: p50 ${result.latency.p50} ms, p99 ${result.latency.p99} ms, ${result.failed} failed ${result.firstFailure}`,
    )
  }

  await rig.run(PLAIN, { ...load, seconds: WARM_UP_SECONDS }, endpoint)
  await step('the month before')
  // Seconds before its end.
  clock.set(secondsToMonthEnd() - INTO_MS / 1_000)
  await step('the month turns after 3 s', async () => {
    await sleep(INTO_MS + 500)
    await expectMonthTurned(rig)
  })
  await step('the same month goes on')
  const { redis } = rig.gateway.cluster.servers
  await step('Redis is emptied after 3 s', () => sleep(INTO_MS).then(() => commandRedis(redis.url, 'FLUSHALL')))
  await step('Redis is killed after 3 s, and started again', async () => {
    await sleep(INTO_MS)
    await clock.around(() => redis.restart())
  })

  const taken = { loadBefore, loadAfter: loadNow(), othersShare: othersShare() }
  await writeIntoReadme(PART, report({ accounts, rate, rows, taken }))
}

interface Row {
  name: string
  result: LoadResult
  fills: number
  warms: number
}

function report({
  accounts,
  rate,
  rows,
  taken,
}: {
  accounts: number
  rate: number
  rows: Row[]
  taken: Parameters<typeof describeTaking>[1][number]
}): string {
  const head = ['', 'requests', 'p50 ms', 'p99 ms', 'p99.9 ms', 'max ms', 'failed', 'keys asked', 'metering asked']
  return [
    describeTaking(describeEnvironment(), [taken]),
    `${accounts.toLocaleString('en-US')} accounts, of which each request draws one; ${rate} requests a second, due at even distances; steps of ${SECONDS} s.`,
    table(
      head,
      rows.map(({ name, result, fills, warms }) => [
        name,
        ...[result.requests, result.latency.p50, result.latency.p99, result.latency.p999, result.latency.max].map(
          figure,
        ),
        ...[result.failed, fills, warms].map(figure),
      ]),
    ),
  ].join('\n\n')
}

async function fillAccounts(rig: Rig, count: number, signal: AbortSignal): Promise<string[]> {
  const { servers } = rig.gateway.cluster
  await using database = await openDatabase(servers.postgres.url)
  await using admission = await openRedisAdmission({ url: servers.redis.url, timeoutMs: 30_000 })
  const masterKeys = deriveMasterKeys(await keepMasterSecret(rig.gateway.dataDir))
  const tokens: string[] = []
  while (tokens.length < count) {
    signal.throwIfAborted()
    const some = makeKeys(masterKeys, Math.min(CHUNK, count - tokens.length))
    await Promise.all([store(database, some), fillStore(admission, some)])
    tokens.push(...some.map(({ value }) => value))
  }
  return tokens
}

/** The number of calls from edges to the owners of data that Redis did not know. */
async function countCalls(rig: Rig): Promise<{ fills: number; warms: number }> {
  const { samples } = await scrapeCluster(rig.gateway.cluster)
  const count = (subject: string) =>
    samples
      .filter(({ name, labels }) => name === 'gateway_bus_request_seconds_count' && labels['subject'] === subject)
      .reduce((sum, { value }) => sum + value, 0)
  return { fills: count('keys.fill'), warms: count('metering.warm') }
}

async function expectMonthTurned({ gateway }: Rig): Promise<void> {
  await using admission = await openRedisAdmission({ url: gateway.cluster.servers.redis.url })
  const { window } = await admission.currentWindow()
  const thisMonth = new Date().toISOString().slice(0, 7)
  if (window === thisMonth) throw new Error(`Redis' clock did not move: it is still ${window}`)
}

function secondsToMonthEnd(): number {
  const now = new Date()
  return (Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime()) / 1_000
}

/** A clock for the processes that are started `around` it, which `set` moves by so many seconds. */
async function shiftedClock() {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-clock-'))
  const file = join(folder, 'shift')
  const library = await compileClock()
  const seconds = Buffer.alloc(8)
  // The servers may run as another user.
  await writeFile(file, seconds)
  await chmod(folder, 0o755)
  await chmod(file, 0o644)
  const handle = await open(file, 'r+')
  let written = Promise.resolve()
  return {
    set(shiftSeconds: number): void {
      seconds.writeBigInt64LE(BigInt(Math.floor(shiftSeconds)))
      written = written.then(() => handle.write(seconds, 0, 8, 0).then(() => {}))
    },
    async around<Started>(start: () => Promise<Started>): Promise<Started> {
      await written
      Object.assign(process.env, { LD_PRELOAD: library, SHIFT_CLOCK_FILE: file })
      try {
        return await start()
      } finally {
        delete process.env['LD_PRELOAD']
        delete process.env['SHIFT_CLOCK_FILE']
      }
    },
    async [Symbol.asyncDispose]() {
      await written
      await handle.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
