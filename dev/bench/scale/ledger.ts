/**
 * Cost against the rows that the ledger holds, all of one month. It measures quota and usage queries, the rate of
 * recording, and the change to a new month. On a PostgreSQL of its own that waits for its disk.
 */

import { startPostgres } from '@gateway/servers/start'
import type { Database } from '@gateway/postgres/database'
import { consumeUsage } from '../../../services/metering/src/consumers/usage.ts'
import { readAccountUsage } from '../../../services/metering/src/db/daily-usage.ts'
import { createPartitions } from '../../../services/metering/src/db/ledger.ts'
import { readUsed } from '../../../services/metering/src/db/windows.ts'
import { openLedger, type TestLedger } from '../../../services/metering/test/ledger.ts'
import { IN_WINDOW_MS, messageOf, usageEvent, WINDOW } from '../../../services/metering/test/usage-events.ts'
import type { Curve, Scaling } from './curve.ts'

const STEPS = [10_000, 100_000, 1_000_000, 10_000_000]
const ACCOUNTS = 10_000
const CHUNK = 200_000
const MONTH_FIRST_MS = Date.parse('2025-01-01T00:00:00Z')
const QUESTIONS = 500
const WARM_UP_MS = 2_000
const INSERT_MS = 5_000
const DAY_MS = 86_400_000

export async function scaleLedger({ signal, say, mostRows }: Scaling): Promise<Curve> {
  await using postgres = await startPostgres({ own: true, durable: true })
  await using ledger = await openLedger(postgres, { statementTimeoutMs: 0 })
  await ledger.partitions.ensureAhead()
  const points: Curve['points'] = []
  let held = 0
  for (const rows of STEPS.filter((step) => step <= mostRows)) {
    while (held < rows) {
      signal.throwIfAborted()
      const some = Math.min(CHUNK, rows - held)
      await addRows(ledger.database, held, some)
      held += some
    }
    await sumUp(ledger.database)
    const values = await measure(ledger, points.length, signal)
    points.push({ x: rows, values })
    say(
      `  ${rows} rows: ${values['perSecond']?.toFixed(0)} rows recorded a second, quota p99 ${values['quotaP99']?.toFixed(2)} ms`,
    )
  }
  return {
    title: 'Rows of the ledger',
    x: 'rows',
    columns: {
      perSecond: 'rows recorded per second',
      batchP99: 'batch of 256, p99 ms',
      quotaP50: 'quota p50 ms',
      quotaP99: 'quota p99 ms',
      usageDayP99: 'usage of a month by day, p99 ms',
      usageModelP99: 'by model, p99 ms',
      newMonthMs: 'a new month, ms',
      sizeMb: 'MB with indexes',
    },
    points,
    panels: [
      { title: 'rows per second', columns: ['perSecond'] },
      { title: 'ms', columns: ['quotaP99', 'usageDayP99', 'usageModelP99', 'newMonthMs'] },
    ],
    notes: [
      `${ACCOUNTS.toLocaleString('en-US')} accounts, all rows in one month's partition. Recorded as metering records them: row, window and daily usage in one transaction; PostgreSQL as it comes, with 128 MB of shared buffers.`,
      'A new month: its partition made and attached, and its first row recorded.',
    ],
  }
}

/** Rows as metering writes them, spread over the month in the order of time. The sums beside them are made once at the end. */
async function addRows(database: Database, from: number, count: number): Promise<void> {
  await database.query(`
      begin;
      set local synchronous_commit = off;
      set local session_replication_role = replica;
      insert into metering.ledger (
           request_id, rank, account, key_id, plan, unit, "window", model_asked, lane, pool, backend, backend_model,
           prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, estimated, price, charge,
           outcome, delivered, streamed, attempts, started_at, ended_at)
         select
           (lpad(to_hex(${MONTH_FIRST_MS}::bigint + n), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
           2, account, account, 'free', 'tokens', '${WINDOW}', 'svc-fast', 'svc-fast', 'bolt', 'gpu-a', 'Qwen3-8B',
           90, 10, 0, 0, false, '{"kind":"multiplier","milliTokensPerToken":1500}', 150000,
           'completed', true, false, '[{"model":"Qwen3-8B","backend":"gpu-a","outcome":"served","durationMs":12.5}]', at, at
         from generate_series(${from}::bigint, ${from}::bigint + ${count} - 1) as n,
           lateral (select 'acct' || lpad((hashint8(n) & 2147483647) % ${ACCOUNTS} || '', 4, '0') as account,
             to_timestamp((${MONTH_FIRST_MS}::bigint + n) / 1000.0) as at) as drawn;
      commit`)
}

async function sumUp(database: Database): Promise<void> {
  await database.query(`
      begin;
      truncate metering.usage_notes, metering.usage_by_day, metering.usage_by_minute, metering.usage_of_organization, metering.windows;
      insert into metering.usage_by_day
         select account, metering.day_of(started_at, "window"), model_asked, key_id, '', 'chat', unit,
           count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), 0, 0, 0, 0, 0, sum(charge)
         from metering.ledger group by 1, 2, 3, 4, 7;
      insert into metering.windows (account, "window", milli_tokens, nano_usd, unit, unit_since, version)
         select account, "window", sum(charge), 0, 'tokens', max(started_at), 1 from metering.ledger group by 1, 2;
      commit`)
  await database.query('analyze metering.windows')
  await database.query('analyze metering.usage_by_day')
}

async function measure(ledger: TestLedger, step: number, signal: AbortSignal): Promise<Record<string, number>> {
  const { database } = ledger
  const quota = await timed(QUESTIONS, () =>
    readUsed(database, { account: anAccount(), window: WINDOW, unit: 'tokens' }),
  )
  const usage = (groupBy: 'day' | 'model') =>
    timed(QUESTIONS, () =>
      readAccountUsage(database, { account: anAccount(), from: '2025-01-01', to: '2025-01-31', groupBy }),
    )
  const [byDay, byModel] = [await usage('day'), await usage('model')]
  // The rows that were laid down in bulk are on disk before rows are recorded one batch after the other.
  await database.query('checkpoint')
  await recordBatches(ledger, WARM_UP_MS, signal)
  const batches = await recordBatches(ledger, INSERT_MS, signal)
  const newMonthMs = await changeMonth(ledger, step)
  const { rows } = await database.query<{ bytes: number; rejected: number }>(
    `select sum(pg_total_relation_size(inhrelid))::bigint as bytes,
       (select count(*) from metering.rejected) as rejected
     from pg_inherits where inhparent = 'metering.ledger'::regclass`,
  )
  if (rows[0]!.rejected > 0) throw new Error(`${rows[0]!.rejected} reports were rejected instead of recorded`)
  return {
    ...batches,
    quotaP50: quota.p50,
    quotaP99: quota.p99,
    usageDayP99: byDay.p99,
    usageModelP99: byModel.p99,
    newMonthMs,
    sizeMb: rows[0]!.bytes / 2 ** 20,
  }
}

async function recordBatches(ledger: TestLedger, durationMs: number, signal: AbortSignal) {
  const latencies: number[] = []
  const untilMs = performance.now() + durationMs
  while (performance.now() < untilMs) {
    signal.throwIfAborted()
    const batch = Array.from({ length: 256 }, () =>
      messageOf(usageEvent({ account: anAccount(), startedAtMs: IN_WINDOW_MS + Math.floor(Math.random() * DAY_MS) })),
    )
    const startedAtMs = performance.now()
    await consumeUsage(ledger, batch)
    latencies.push(performance.now() - startedAtMs)
  }
  const elapsedMs = latencies.reduce((sum, latency) => sum + latency, 0)
  return { perSecond: (latencies.length * 256) / (elapsedMs / 1_000), batchP99: percentiles(latencies).p99 }
}

/** Each step has a month of its own, further back each time. */
async function changeMonth(ledger: TestLedger, step: number): Promise<number> {
  const startedAtMs = Date.UTC(2024, 11 - step, 1)
  const event = usageEvent({
    account: anAccount(),
    startedAtMs,
    window: new Date(startedAtMs).toISOString().slice(0, 7),
  })
  const fresh = { ...ledger, partitions: createPartitions(ledger.database, () => IN_WINDOW_MS) }
  const beganAtMs = performance.now()
  await consumeUsage(fresh, [messageOf(event)])
  return performance.now() - beganAtMs
}

function anAccount(): string {
  return `acct${String(Math.floor(Math.random() * ACCOUNTS)).padStart(4, '0')}`
}

async function timed(count: number, query: () => Promise<unknown>) {
  const latencies: number[] = []
  for (let done = 0; done < count; done++) {
    const startedAtMs = performance.now()
    await query()
    latencies.push(performance.now() - startedAtMs)
  }
  return percentiles(latencies)
}

function percentiles(latencies: number[]) {
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}
