/**
 * Measures the cost of the ledger: batches of usage reports, recorded on a PostgreSQL that waits for its disk, over a
 * thousand accounts. The store is a stub, so this is parsing, recording, the windows and the daily sums.
 * Then it measures an account's usage report of a year in which the account used five models on every day.
 *
 *     node_modules/node/bin/node dev/bench/ledger.ts [rows]
 */

import { startPostgres } from '@gateway/servers/start'
import { consumeUsage } from '../../services/metering/src/consumers/usage.ts'
import { readAccountUsage } from '../../services/metering/src/db/daily-usage.ts'
import { openLedger } from '../../services/metering/test/ledger.ts'
import { messageOf, usageEvent } from '../../services/metering/test/usage-events.ts'

const rows = Number(process.argv[2] ?? 20_000)
const ACCOUNTS = 1_000

await using postgres = await startPostgres({ own: true, durable: true })
await using ledger = await openLedger(postgres, { statementTimeoutMs: 0 })

await measured({ messages: 64, events: 1 }, 2_000)
console.table({
  'one report at a time': await measured({ messages: 1, events: 1 }, rows / 20),
  '256 messages of 1': await measured({ messages: 256, events: 1 }, rows),
  '64 messages of 20': await measured({ messages: 64, events: 20 }, rows),
})

await useEveryDay()
console.table({
  'a year by day': await measureReport('day'),
  'a year by model': await measureReport('model'),
})

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
    `insert into metering.daily_usage
         select 'acct' || lpad(account::text, 4, '0'), date '2024-01-01' + day, 'model-' || model, 'tokens', 10, 9000, 1000, 0, 15000000
         from generate_series(0, 365) day, generate_series(1, 5) model, generate_series(0, $1::int - 1) account
         order by random()`,
    [ACCOUNTS],
  )
  await ledger.database.query('vacuum analyze metering.daily_usage')
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
