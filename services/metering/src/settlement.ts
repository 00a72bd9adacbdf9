/**
 * Writes the window's total to the admission store, with the newly included requests and their tokens.
 *
 * The ledger never waits for the store. While the store is away, totals wait in `metering.owed_totals`, in the ledger's
 * own database. Metering writes them before it acknowledges the messages. Any process delivers them when the store is
 * back. Should that note fail too, the error goes to the caller, whose messages then come again. Totals carry versions
 * and requests are released by id, so a repeated, late or reordered delivery does no harm.
 *
 * A note names the window and the requests. The delivery reads the total and the tokens of the requests, so that the total is
 * never older than the requests that it includes.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { IncludedRequest, MeteringAdmission } from '@gateway/admission/port'
import type { Logger } from '@gateway/telemetry/logger'
import type { Metrics } from '@gateway/telemetry/metrics'
import { sql } from 'kysely'
import type { MeteringDatabase } from './db/tables.ts'
import { readTotals, type Settled, type TotalQuery } from './db/windows.ts'
import { windowKey } from './core/reports.ts'
import { readRecorded, type RecordedRequest } from './db/ledger.ts'

export interface Settlement extends AsyncDisposable {
  settle(totals: readonly Settled[]): Promise<void>
}

/** Redis serves nobody else while it takes a portion. */
const TOTALS_AT_ONCE = 16
const OWING_PAUSE_MS = 500
/** Of notes that nobody takes, before a pause. */
const PAGES_AT_A_TIME = 10
/** The pause between looks for notes of another process. */
const IDLE_PAUSE_MS = 5_000

export function startSettlement(context: {
  database: MeteringDatabase
  admission: MeteringAdmission
  logger: Logger
  metrics: Metrics
}): Settlement {
  const { database, admission, logger, metrics } = context
  const stopping = new AbortController()
  let resting = new AbortController()
  /** While the store is known to be away, nobody waits for its time-outs: totals are noted at once. */
  let storeAway = false
  metrics.observedGauge('gateway_metering_store_away', '1 while totals wait for Redis', () => (storeAway ? 1 : 0))
  /** The id of a note; null when the first notes come next. */
  let lastTried: number | null = null

  async function settle(totals: readonly Settled[]): Promise<void> {
    const owed = storeAway ? totals : await report(totals)
    if (owed.length > 0) await noteOwed(database, owed)
  }

  /** Returns the totals that did not reach the store. */
  async function report(totals: readonly Settled[]): Promise<Settled[]> {
    for (let start = 0; start < totals.length; start += TOTALS_AT_ONCE) {
      const portion = totals.slice(start, start + TOTALS_AT_ONCE)
      const outcomes = await Promise.allSettled(portion.map((total) => admission.applyTotal(total)))
      const failed = outcomes.find((outcome) => outcome.status === 'rejected')
      if (!failed) continue
      logger.warn({ err: failed.reason }, 'the admission store is away; totals are kept until it is back')
      storeAway = true
      resting.abort()
      const unreported = portion.filter((_, index) => outcomes[index]?.status === 'rejected')
      return [...unreported, ...totals.slice(start + TOTALS_AT_ONCE)]
    }
    return []
  }

  async function deliverAsTheyCome(): Promise<void> {
    while (!stopping.signal.aborted) {
      const delivered = await deliver()
      if (delivered === 0) await rest(storeAway ? OWING_PAUSE_MS : IDLE_PAUSE_MS)
    }
  }

  /** Ends early when the service stops and when the store goes away. */
  async function rest(pauseMs: number): Promise<void> {
    resting = new AbortController()
    const signal = AbortSignal.any([stopping.signal, resting.signal])
    await sleep(pauseMs, undefined, { signal }).catch(() => {})
  }

  /** Goes on behind notes that nobody takes: only a part of the store may be away. */
  async function deliver(): Promise<number> {
    try {
      if (!(await isAnyOwed(database))) {
        storeAway = false
        lastTried = null
        return 0
      }
      let failure: unknown = null
      for (let page = 0; page < PAGES_AT_A_TIME; page++) {
        const delivery = await deliverOwed(database, lastTried, (total) => admission.applyTotal(total))
        lastTried = delivery.last
        failure ??= delivery.failure
        if (delivery.delivered > 0) {
          if (storeAway) logger.info({ delivered: delivery.delivered }, 'the admission store is back')
          storeAway = false
          return delivery.delivered
        }
        if (lastTried === null) break
      }
      storeAway = failure !== null
      return 0
    } catch (error) {
      logger.warn({ err: error }, 'owed totals could not be read')
      return 0
    }
  }

  const delivering = deliverAsTheyCome()
  return {
    settle,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await delivering
    },
  }
}

const NOTES_AT_A_TIME = 200

/** Requests of an account in a window, by their ids, and keys whose totals moved beside those of the requests. */
interface WindowRequests extends TotalQuery {
  included: string[]
}

async function noteOwed(database: MeteringDatabase, owed: readonly Settled[]): Promise<void> {
  const notes = owed.map(({ account, window, included }) => {
    return { account, window, included: included.map(({ requestId }) => requestId) }
  })
  await sql`
    insert into metering.owed_totals (account, "window", included)
    select account, "window", included
    from jsonb_to_recordset(${JSON.stringify(notes)}::jsonb) as note (account text, "window" text, included jsonb)
  `.execute(database)
}

/** Most looks find none, and cost one small query. */
async function isAnyOwed(database: MeteringDatabase): Promise<boolean> {
  const { rows } = await sql<{ isOwed: boolean }>`
    select exists (select from metering.owed_totals) as "isOwed"`.execute(database)
  return rows[0]!.isOwed
}

interface Delivery {
  delivered: number
  failure: unknown
  /** The last note of these; null where no more may come after it. */
  last: number | null
}

/** Delivers some notes that come after this one, each by one process only, and deletes those that the store took. */
async function deliverOwed(
  database: MeteringDatabase,
  after: number | null,
  report: (settled: Settled) => Promise<void>,
): Promise<Delivery> {
  return database.transaction().execute(async (transaction) => {
    const notes = await transaction
      .selectFrom('metering.owed_totals')
      .select(['id', 'account', 'window', 'included'])
      .$narrowType<{ included: string[] }>()
      .where('id', '>', after ?? 0)
      .orderBy('id')
      .limit(NOTES_AT_A_TIME)
      .forUpdate()
      .skipLocked()
      .execute()
    if (notes.length === 0) return { delivered: 0, failure: null, last: null }
    const totals = await readCurrentTotals(transaction, notes)
    const outcomes = await Promise.allSettled(totals.map(report))
    const taken = notes.filter((_, index) => outcomes[index]?.status === 'fulfilled').map(({ id }) => id)
    await transaction
      .deleteFrom('metering.owed_totals')
      .where('id', '=', sql<number>`any(${taken}::bigint[])`)
      .execute()
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    const last = notes.length < NOTES_AT_A_TIME ? null : notes.at(-1)!.id
    return { delivered: taken.length, failure: failed ? failed.reason : null, last }
  })
}

/** The totals as they are now, each with the requests that are to be released. */
export async function readCurrentTotals(
  database: MeteringDatabase,
  reports: readonly WindowRequests[],
): Promise<Settled[]> {
  if (reports.length === 0) return []
  const requestIds = reports.flatMap(({ included }) => included)
  const queries = withKeys(reports, await readRecorded(database, requestIds))
  // First the totals: the state of a request is then never older than the total's version.
  const totals = new Map((await readTotals(database, queries)).map((total) => [windowKey(total), total]))
  const recorded = await readRecorded(database, requestIds)
  return reports.map(({ account, window, included }) => {
    const total = totals.get(windowKey({ account, window })) ?? { account, window, settled: 0, version: 0 }
    return { ...total, included: included.map((requestId) => includedRequest(requestId, account, recorded)) }
  })
}

/** The keys of rows do not change. */
function withKeys(reports: readonly WindowRequests[], recorded: ReadonlyMap<string, RecordedRequest>): TotalQuery[] {
  return reports.map(({ account, window, included, keyIds = [] }) => {
    if (keyIds === 'all') return { account, window, keyIds }
    const ofRequests = included.flatMap((requestId) => recorded.get(requestId.toLowerCase())?.keyId ?? [])
    return { account, window, keyIds: [...keyIds, ...ofRequests] }
  })
}

/** A row of another account says nothing of a request of this one. */
function includedRequest(
  requestId: string,
  account: string,
  recorded: ReadonlyMap<string, RecordedRequest>,
): IncludedRequest {
  const row = recorded.get(requestId.toLowerCase())
  return row?.account === account ? { requestId, tokens: row.tokens, mayChange: row.mayChange } : { requestId }
}
