/**
 * Measures the cost of the ledger: batches of usage reports, recorded on a PostgreSQL that waits for its disk, over a
 * thousand accounts. The store is a stub, so this is parsing, recording, the windows and the daily sums.
 * Then it measures an account's usage report of a year in which the account used five models on every day. Last come usage and costs of
 * 31 days on which a thousand projects used twenty models each, in every grouping.
 *
 *     node_modules/node/bin/node dev/bench/ledger.ts [rows]
 */

import { startPostgres } from '@gateway/servers/start'
import { consumeUsage } from '../../services/metering/src/consumers/usage.ts'
import { administer } from '../../services/metering/src/handlers/administer.ts'
import { readAccountUsage } from '../../services/metering/src/db/daily-usage.ts'
import { keepUsageSums, sumUpNotes } from '../../services/metering/src/db/usage-sums.ts'
import { openLedger } from '../../services/metering/test/ledger.ts'
import { messageOf, usageEvent } from '../../services/metering/test/usage-events.ts'

const rows = Number(process.argv[2] ?? 20_000)
const ACCOUNTS = 1_000
const DAYS = 31
const START_SECONDS = Date.parse('2026-10-01') / 1000

await using postgres = await startPostgres({ own: true, durable: true })
await using ledger = await openLedger(postgres, { statementTimeoutMs: 0 })

await recordReports()
await useEveryDay()
console.table({
  'a year by day': await measureReport('day'),
  'a year by model': await measureReport('model'),
})

await useOfProjects()
const month = { start_time: START_SECONDS, end_time: START_SECONDS + DAYS * 86_400, limit: DAYS }
const ofProject = { ...month, project_ids: ['proj_org00500'] }
const completions: [string, Record<string, unknown>][] = [
  ['in all', month],
  ['by model', { ...month, group_by: ['model'] }],
  ['by user', { ...month, group_by: ['user_id'] }],
  ['by user and model', { ...month, group_by: ['user_id', 'model'] }],
  ['by tag', { ...month, group_by: ['tag'] }],
  ['of a user by model', { ...month, user_ids: ['user-7'], group_by: ['model'] }],
  ['of a model', { ...month, models: ['model-7'] }],
  ['by project, first page', { ...month, group_by: ['project_id'] }],
  ['by project and model, first page', { ...month, group_by: ['project_id', 'model'] }],
  ['by key, first page', { ...month, group_by: ['api_key_id'] }],
  ['of a project by model', { ...ofProject, group_by: ['model'] }],
  ['of a project by key and user', { ...ofProject, group_by: ['api_key_id', 'user_id'] }],
  ['of a key', { ...month, api_key_ids: ['key_k500'] }],
]
const costs: [string, Record<string, unknown>][] = [
  ['in all', month],
  ['by model', { ...month, group_by: ['line_item'] }],
  ['by project, first page', { ...month, group_by: ['project_id'] }],
]
const figures: Record<string, Record<string, string>> = {}
for (const [name, input] of completions) figures[`completions ${name}`] = await measureUsage('usage.completions', input)
for (const [name, input] of costs) figures[`costs ${name}`] = await measureUsage('usage.costs', input)
console.table(figures)

/** Beside it metering sums up, as in the service. */
async function recordReports(): Promise<void> {
  await using _ = keepUsageSums(ledger.database, ledger.logger)
  await measured({ messages: 64, events: 1 }, 2_000)
  console.table({
    'one report at a time': await measured({ messages: 1, events: 1 }, rows / 20),
    '256 messages of 1': await measured({ messages: 256, events: 1 }, rows),
    '64 messages of 20': await measured({ messages: 64, events: 20 }, rows),
  })
}

async function measured(batch: { messages: number; events: number }, count: number): Promise<Record<string, string>> {
  const latencies: number[] = []
  let cpuMicros = 0
  let recorded = 0
  while (recorded < count) {
    const messages = Array.from({ length: batch.messages }, () => messageOf(...events(batch.events)))
    const [cpu, startedAtMs] = [process.cpuUsage(), performance.now()]
    await consumeUsage(ledger, messages)
    latencies.push(performance.now() - startedAtMs)
    const { user, system } = process.cpuUsage(cpu)
    cpuMicros += user + system
    recorded += batch.messages * batch.events
  }
  const elapsedMs = latencies.reduce((sum, latency) => sum + latency, 0)
  latencies.sort((a, b) => a - b)
  return {
    'rows per second': Math.round(recorded / (elapsedMs / 1000)).toString(),
    'batch p50': `${latencies[Math.floor(latencies.length * 0.5)]!.toFixed(1)} ms`,
    'batch p99': `${latencies[Math.floor(latencies.length * 0.99)]!.toFixed(1)} ms`,
    'CPU of metering per row': `${(cpuMicros / recorded).toFixed(1)} us`,
  }
}

function events(count: number) {
  return Array.from({ length: count }, () => {
    const account = `acct${String(Math.floor(Math.random() * ACCOUNTS)).padStart(4, '0')}`
    return usageEvent({ account, startedAtMs: Date.now() })
  })
}

/** As if each of the daily sums stood for any number of rows: a question reads the sums alone. */
async function useEveryDay(): Promise<void> {
  await ledger.database.query(
    `insert into metering.usage_by_day
         select 'acct' || lpad(account::text, 4, '0'), date '2024-01-01' + day, 'model-' || model, 'key', '', 'chat', 'tokens',
           10, 9000, 1000, 0, 0, 0, 0, 0, 0, 15000000
         from generate_series(0, 365) day, generate_series(1, 5) model, generate_series(0, $1::int - 1) account
         order by random()`,
    [ACCOUNTS],
  )
  await ledger.database.query('vacuum analyze metering.usage_by_day')
}

async function measureReport(groupBy: 'day' | 'model'): Promise<Record<string, string>> {
  const latencies: number[] = []
  for (let account = 0; account < 200; account++) {
    const startedAtMs = performance.now()
    const name = `acct${String(account * 5).padStart(4, '0')}`
    await readAccountUsage(ledger.database, { account: name, from: '2024-01-01', to: '2024-12-31', groupBy })
    latencies.push(performance.now() - startedAtMs)
  }
  latencies.sort((a, b) => a - b)
  return { p50: `${latencies[100]!.toFixed(1)} ms`, p99: `${latencies[198]!.toFixed(1)} ms` }
}

/** Each project has a key and two tags, and each of fifty members has twenty projects. The notes become sums as in the service. */
async function useOfProjects(): Promise<void> {
  await ledger.database.query(
    `insert into metering.usage_notes
         select 'org' || lpad(project::text, 5, '0'), timestamptz '2026-10-01 12:00Z' + day * interval '1 day', 'model-' || model,
           case when tag is null then 'k' || project else '' end, case when tag is null then 'user-' || project % 50 else '' end,
           'chat', 'usd', tag, 10, 9000, 1000, 0, 0, 0, 0, 0, 0, 15000000
         from generate_series(0, $1::int - 1) day, generate_series(1, 20) model, generate_series(0, $2::int - 1) project,
           unnest(array[null, 'env=prod', 'team=' || project]) tag
         order by day, random()`,
    [DAYS, ACCOUNTS],
  )
  const startedAtMs = performance.now()
  let moved = 0
  for (let count = -1; count !== 0; moved += count) count = await sumUpNotes(ledger.database)
  const perSecond = Math.round(moved / ((performance.now() - startedAtMs) / 1000))
  console.log(`${moved} notes became sums, ${perSecond} a second`)
  await ledger.database.query(
    'vacuum analyze metering.usage_notes, metering.usage_by_day, metering.usage_by_tag, metering.usage_of_organization',
  )
}

async function measureUsage(
  operation: 'usage.completions' | 'usage.costs',
  input: Record<string, unknown>,
): Promise<Record<string, string>> {
  const latencies: number[] = []
  for (let times = 0; times < 15; times++) {
    const startedAtMs = performance.now()
    const reply = await administer({ database: ledger.database, now: Date.now }, { operation, input })
    if (reply.kind === 'refused') throw new Error(reply.message)
    latencies.push(performance.now() - startedAtMs)
  }
  latencies.sort((a, b) => a - b)
  return { p50: `${latencies[7]!.toFixed(1)} ms`, worst: `${latencies[14]!.toFixed(1)} ms` }
}
