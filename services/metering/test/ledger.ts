/**
 * A ledger on its own database, with an admission store that remembers its totals and can be away.
 */

import type { MeteringAdmission } from '@gateway/admission/port'
import { openDatabase, type Database, type DatabaseOptions } from '@gateway/postgres/database'
import { migrate } from '@gateway/postgres/migrate'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import type { PostgresServer } from '@gateway/servers/start'
import type { UsageContext } from '../src/consumers/usage.ts'
import { createPartitions } from '../src/db/ledger.ts'
import type { MeteringTables } from '../src/db/tables.ts'
import { startSettlement } from '../src/settlement.ts'
import { IN_WINDOW_MS, WINDOW } from './usage-events.ts'

type Total = Parameters<MeteringAdmission['applyTotal']>[0]

/** Keeps the promises of the port that metering can see: newer versions only, requests released by id. */
export interface RecordingAdmission extends MeteringAdmission {
  away: boolean
  readonly reported: Total[]
  total(account: string): { settled: number; version: number } | undefined
  /** Of a key that was warmed. */
  keyTotal(account: string, keyId: string): number | undefined
  forget(): void
  readonly released: Set<string>
}

export function recordingAdmission(): RecordingAdmission {
  const totals = new Map<string, { settled: number; version: number }>()
  const reported: Total[] = []
  const released = new Set<string>()
  const keyTotals = new Map<string, { settled: number; version: number }>()
  const take = (admission: RecordingAdmission, total: Omit<Total, 'included'>, isRequested: boolean): void => {
    if (admission.away) throw new Error('the store is away')
    const ofAccount = totals.get(total.account)
    for (const { keyId, settled } of total.window === WINDOW ? (total.keys ?? []) : []) {
      const key = `${total.account} ${keyId}`
      const before = keyTotals.get(key)
      // The store may have ignored a newer total of a key that it did not know.
      const isTaken = isRequested && total.version >= (ofAccount?.version ?? 0)
      if (before ? total.version > before.version : isTaken) {
        keyTotals.set(key, { settled, version: total.version })
      }
    }
    const held = totals.get(total.account)
    if (!held || total.version > held.version)
      totals.set(total.account, { settled: total.settled, version: total.version })
  }
  return {
    away: false,
    reported,
    released,
    total: (account) => totals.get(account),
    keyTotal: (account, keyId) => keyTotals.get(`${account} ${keyId}`)?.settled,
    forget() {
      totals.clear()
      keyTotals.clear()
    },
    async applyTotal(total) {
      take(this, total, false)
      reported.push(total)
      for (const { requestId } of total.included) released.add(requestId)
    },
    async warm(total) {
      take(this, total, true)
    },
    async inspect(account) {
      if (this.away) throw new Error('the store is away')
      const total = totals.get(account) ?? null
      return { window: WINDOW, facts: null, keys: [], total, running: 0, ended: 0, keyTotals: [], requests: [] }
    },
    async recount() {},
    async currentWindow() {
      if (this.away) throw new Error('the store is away')
      return { window: WINDOW, resetAtMs: Date.UTC(2025, 1, 1) }
    },
  }
}

export interface TestLedger extends UsageContext, AsyncDisposable {
  database: Database<MeteringTables>
  admission: RecordingAdmission
  /** An auditor's view: the rows of the account and their sum, beside the window's total. */
  audit(account: string): Promise<{ rows: number; sum: number; total: number; version: number }>
}

/** `store`: receives totals in place of the one that remembers. */
export async function openLedger(
  postgres: PostgresServer,
  { store, ...options }: DatabaseOptions & { store?: MeteringAdmission } = {},
): Promise<TestLedger> {
  await using opening = new AsyncDisposableStack()
  const { url } = opening.use(await postgres.createDatabase())
  const database = opening.use(await openDatabase<MeteringTables>(url, options))
  await migrate(url, { schema: 'metering', directory: `${import.meta.dirname}/../src/db/migrations` })
  const logger = createLogger({ service: 'metering', level: 'silent' })
  const admission = recordingAdmission()
  const metrics = createMetrics({ service: 'metering' })
  const settlement = opening.use(startSettlement({ database, admission: store ?? admission, logger, metrics }))
  const opened = opening.move()
  return {
    database,
    admission,
    logger,
    tracer: NO_TRACING,
    settlement,
    keyUse: { record() {} },
    countBatch() {},
    quotaStatus: { moved() {} },
    partitions: createPartitions(database, () => IN_WINDOW_MS),
    audit: (account) => audit(database, account),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function audit(database: Database, account: string) {
  const { rows } = await database.query<{ rows: number; sum: number; total: number; version: number }>(
    `select count(*) as rows, coalesce(sum(charge), 0)::bigint as sum,
       coalesce((select milli_tokens from metering.windows where account = $1), 0) as total,
       coalesce((select version from metering.windows where account = $1), 0) as version
     from metering.ledger where account = $1`,
    [account],
  )
  return rows[0]!
}
