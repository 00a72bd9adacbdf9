/**
 * A metering process of the last release beside this one, on this one's tables. Its rows count in usage and costs as all others do, and
 * this release delivers the totals of projects that the former one cannot.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitsWith } from '@gateway/admission/limits-for-tests'
import type { Admission } from '@gateway/admission/port'
import { openRedisAdmission } from '@gateway/admission/redis'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { subjects, usageStream } from '@gateway/contracts/subjects'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { rpcClient } from '@gateway/rpc/client'
import { startNats, startPostgres, startRedis } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requestIdAt, usageEvent } from '../services/metering/test/usage-events.ts'
import { PRESENT, unpackLastRelease, type Version } from './skew/versions.ts'

/** Unacknowledged messages come again after ten seconds. */
const WITHIN = { timeout: 60_000, interval: 50 }
/** A process subscribes to one subject after the other. */
const TIMELY = { timeoutMs: 30_000, absentForMs: 20_000 }

const stack = new AsyncDisposableStack()
let former: Version
let admission: Admission
let bus: Bus
let database: Database
let environment: Record<string, string>
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-usage-skew-'))
  stack.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  former = await unpackLastRelease(join(folder, 'former'))
  const [nats, redis, postgres] = await Promise.all([startNats(), startRedis(), startPostgres()])
  for (const server of [nats, redis, postgres]) stack.use(server)
  const { url: databaseUrl } = stack.use(await postgres.createDatabase())
  environment = { NATS_URL: nats.url, REDIS_URL: redis.url, DATABASE_URL: databaseUrl }
  database = stack.use(await openDatabase(databaseUrl))
  admission = stack.use(await openRedisAdmission({ url: redis.url, timeoutMs: 5_000 }))
  bus = stack.use(await openNatsBus({ url: nats.url, name: 'test', streams: [usageStream] }))
})
afterAll(() => stack.disposeAsync())

function startMetering({ folder, isCompiled }: Version): AsyncDisposable {
  const main = join(folder, `services/metering/src/main.${isCompiled ? 'js' : 'ts'}`)
  const env = { ...environment, LOG_LEVEL: 'fatal', HEALTH_PORT: '0' }
  const metering = spawn(process.execPath, [main], { env, stdio: 'inherit' })
  dieWithParent(metering)
  return {
    async [Symbol.asyncDispose]() {
      if (metering.exitCode !== null || metering.signalCode !== null) return
      const exited = once(metering, 'exit')
      metering.kill('SIGKILL')
      await exited
    },
  }
}

const edge = () => rpcClient('edge', bus)
const report = (...events: UsageEvent[]) =>
  bus.durable.publish(subjects.usage, Buffer.from(JSON.stringify({ v: 1, events })), { timeoutMs: 60_000 })

/** All rows, and those that an edge has reported. */
async function rowsOf(account: string): Promise<[rows: number, ofEdges: number]> {
  const { rows } = await database.query<{ rows: number; edges: number }>(
    'select count(*) as rows, count(*) filter (where rank = 2) as edges from metering.ledger where account = $1',
    [account],
  )
  return [rows[0]!.rows, rows[0]!.edges]
}

const owed = async (account: string) =>
  (await database.query('select from metering.owed_totals where account = $1', [account])).rows.length

async function window(): Promise<string> {
  return (await admission.currentWindow()).window
}

async function sumUsage(operation: string, account: string, fields: (result: Result) => number[]): Promise<number[]> {
  const input = { start_time: Math.floor(Date.now() / 1000) - 86_400, project_ids: [`proj_${account}`] }
  const groups = operation === 'usage.costs' ? ['api_key_id', 'line_item'] : ['api_key_id', 'model']
  const reply = await edge().request('meteringAdminister', { operation, input: { ...input, group_by: groups } }, TIMELY)
  if (reply.kind === 'refused') throw new Error(reply.message)
  const { data } = reply.output as { data: { results: Result[] }[] }
  const sums = data.flatMap(({ results }) => results.map(fields))
  return sums.reduce((all, one) => one.map((value, index) => value + (all[index] ?? 0)), [])
}
type Result = Record<string, number> & { amount: { value: number } }

async function expectUsageOfRows(account: string): Promise<void> {
  const { rows } = await database.query<Record<string, number>>(
    `select count(*) as requests, sum(prompt_tokens)::bigint as input, sum(completion_tokens)::bigint as output,
       sum(charge)::bigint as nano from metering.ledger where account = $1`,
    [account],
  )
  const { requests, input, output, nano } = rows[0]!
  const tokens = ({ num_model_requests, input_tokens, output_tokens }: Result) => [
    ...[num_model_requests!, input_tokens!, output_tokens!],
  ]
  expect(await sumUsage('usage.completions', account, tokens)).toEqual([requests, input, output])
  const costs = ({ amount }: Result) => [Math.round(amount.value * 1e9)]
  expect(await sumUsage('usage.costs', account, costs)).toEqual([nano])
}

function eventsOf(account: string, month: string, count: number): UsageEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const startedAtMs = Date.now()
    return usageEvent({
      ...{ account, window: month, startedAtMs, requestId: requestIdAt(startedAtMs), keyId: `key0000${index % 3}` },
      ...{ unit: 'usd', price: { kind: 'base', nanoUsdPerKiloToken: 1_234_567 }, modelAsked: `model-${index % 4}` },
      ...{ isProject: true, userId: `user-${index % 2}`, tags: { team: 'search' }, tokens: 11 + index },
    })
  })
}

test(
  'rows of a metering process of the last release count in usage and costs, alone and beside this one',
  { timeout: 180_000 },
  async () => {
    const account = 'usage001'
    const month = await window()
    {
      await using _ = startMetering(PRESENT)
      await edge().request('meteringWarm', { account }, TIMELY)
    }
    await using _former = startMetering(former)
    const alone = eventsOf(account, month, 60)
    // A router reports first, and the edge's report replaces its row. Each comes twice.
    const { usage } = usageEvent({ tokens: 12 })
    await report(...alone.map((event): UsageEvent => ({ ...event, reporter: 'router', usage })))
    await report(...alone.slice(0, 40))
    await report(...alone.slice(0, 40))
    await expect.poll(() => rowsOf(account), WITHIN).toEqual([60, 40])
    await using _present = startMetering(PRESENT)
    await expectUsageOfRows(account)
    for (const event of [...alone, ...eventsOf(account, month, 60)]) await report(event)
    await expect.poll(() => rowsOf(account), WITHIN).toEqual([120, 120])
    await expectUsageOfRows(account)
  },
)

test(
  "this release delivers a project's totals that a metering process of the last release owes",
  { timeout: 180_000 },
  async () => {
    const account = 'owing001'
    const keyId = 'key00000'
    const month = await window()
    const limits = {
      keyId,
      expiresAtMs: null,
      monthly: 1e12,
      requestsPerMinute: null,
      tokensPerMinute: null,
      policy: '',
    }
    await admission.fill({
      ...{ account, version: 1, plan: 'payg', overage: false, extra: 0 },
      project: { hardLimit: null, policy: '', policyVersion: 1, modelLimits: [] },
      keys: [{ keyHash: 'hash', version: 1, active: true, limits }],
    })
    {
      await using _ = startMetering(PRESENT)
      await edge().request('meteringWarm', { account, unit: 'usd', planVersion: 1 }, TIMELY)
      await edge().request('meteringWarm', { account, keyId }, TIMELY)
    }
    await using _former = startMetering(former)
    const [event] = eventsOf(account, month, 1)
    const { requestId } = event!
    const admitted = await admission.admit({
      ...{ requestId, account, keyHash: 'hash', planHint: 'payg', policyHint: `1.1.${keyId}`, model: 'model-0' },
      ...{ planIncludesModel: true, limits: limitsWith({ allowance: 1e15 }), usualTokens: 10, worstCharge: 100_000 },
      leaseMs: 600_000,
    })
    expect(admitted).toMatchObject({ kind: 'allow' })
    const charge = Math.round((11 * 1_234_567) / 1_000)
    await admission.finish({ account, requestId, charge, tokens: 11 })
    await report(event!)
    await expect.poll(() => owed(account), WITHIN).toBe(1)
    expect(await admission.inspect(account)).toMatchObject({
      total: { settled: 0 },
      ended: charge,
      keyTotals: [{ keyId, settled: 0, ended: charge }],
    })
    await using _present = startMetering(PRESENT)
    await expect.poll(() => owed(account), WITHIN).toBe(0)
    expect(await admission.inspect(account)).toMatchObject({
      total: { settled: charge },
      ended: 0,
      keyTotals: [{ keyId, settled: charge, ended: 0 }],
      requests: [],
    })
    await expectUsageOfRows(account)
  },
)
