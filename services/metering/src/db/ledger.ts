/**
 * Writes reports into the ledger and moves the windows' totals by the difference, in one statement and so in one transaction. A
 * crash leaves both or neither, and a repeated report changes nothing.
 *
 * A report replaces the one held for its request only when it ranks higher (the rule of `core/reports.ts`); the
 * total then moves by the difference.
 * The window's unit is that of the latest known plan, by the plans' numbers. A late report of a former plan is charged in its own
 * unit and moves that unit's total, and no other. Of the same number the report written last counts: then the config has changed
 * the unit of the plan itself. A report without a number changes no unit. Admission has fixed a request's account, window and
 * unit: a report with others replaces nothing.
 *
 * Reports come merged and sorted by request id, and windows move in the order of accounts. So writers that meet wait for each
 * other, and never in a circle.
 */

import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { RANK, type RejectedReport, type Report, timeOfRequestMs, windowKey } from '../core/reports.ts'
import { claimsOf, lockClaims, readVoided, voidLostRuns } from './claims.ts'
import type { MeteringDatabase } from './tables.ts'
import type { TotalQuery, WindowTotal } from './windows.ts'
import type { Logger } from '@gateway/telemetry/logger'

const record = (records: string) => sql<WindowTotal & { written: number; hasKeys: boolean }>`
  with report as (
    select * from jsonb_to_recordset(${records}::jsonb) as r (
      "requestId" uuid, rank smallint, account text, "keyId" text, plan text, "planVersion" bigint, unit text,
      "window" text, claim text, "sessionId" text, "agentId" text, "parentAgentId" text, compaction text,
      kind text, "isProject" boolean, "userId" text, "endUser" text, tags jsonb,
      "modelAsked" text, lane text, pool text, backend text, "backendModel" text,
      "promptTokens" bigint, "completionTokens" bigint, "cachedTokens" bigint, "cacheWriteTokens" bigint,
      "cacheWriteHourTokens" bigint, "reasoningTokens" bigint, estimated boolean, "audioPromptTokens" bigint,
      "cachedAudioTokens" bigint, "audioCompletionTokens" bigint, images bigint, "toolCalls" jsonb,
      "vendorCostNanoUsd" bigint, price jsonb, charge bigint, outcome text, delivered boolean, streamed boolean, attempts jsonb,
      "startedAtMs" bigint, "endedAtMs" bigint
    )
  ),
  written as (
    insert into metering.ledger as held (
      request_id, rank, account, key_id, plan, plan_version, unit, "window", claim,
      session_id, agent_id, parent_agent_id, compaction,
      kind, is_project, user_id, end_user, tags, images,
      model_asked, lane, pool, backend, backend_model,
      prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens,
      cache_write_hour_tokens, reasoning_tokens, estimated,
      audio_prompt_tokens, cached_audio_tokens, audio_completion_tokens, tool_calls, vendor_cost_nano_usd,
      price, charge, outcome, delivered, streamed, attempts, started_at, ended_at
    )
    select
      "requestId", rank, account, "keyId", plan, "planVersion", unit, "window", claim,
      "sessionId", "agentId", "parentAgentId", compaction,
      kind, coalesce("isProject", false), "userId", "endUser", tags, coalesce(images, 0),
      "modelAsked", lane, pool, backend, "backendModel",
      "promptTokens", "completionTokens", "cachedTokens", coalesce("cacheWriteTokens", 0),
      coalesce("cacheWriteHourTokens", 0), "reasoningTokens", estimated,
      coalesce("audioPromptTokens", 0), coalesce("cachedAudioTokens", 0), coalesce("audioCompletionTokens", 0),
      coalesce("toolCalls", '{}'), "vendorCostNanoUsd",
      price, charge, outcome, delivered, streamed, attempts,
      to_timestamp("startedAtMs" / 1000.0), to_timestamp("endedAtMs" / 1000.0)
    from report
    order by "requestId"
    on conflict (request_id) do update set
      rank = excluded.rank,
      -- A router of the former version does not report them.
      session_id = coalesce(excluded.session_id, held.session_id), agent_id = coalesce(excluded.agent_id, held.agent_id),
      parent_agent_id = coalesce(excluded.parent_agent_id, held.parent_agent_id),
      compaction = coalesce(excluded.compaction, held.compaction),
      kind = coalesce(excluded.kind, held.kind), is_project = excluded.is_project or held.is_project,
      user_id = coalesce(excluded.user_id, held.user_id), end_user = coalesce(excluded.end_user, held.end_user),
      tags = coalesce(excluded.tags, held.tags), images = excluded.images,
      model_asked = excluded.model_asked, lane = excluded.lane, pool = excluded.pool,
      backend = excluded.backend, backend_model = excluded.backend_model,
      prompt_tokens = excluded.prompt_tokens, completion_tokens = excluded.completion_tokens,
      cached_tokens = excluded.cached_tokens, cache_write_tokens = excluded.cache_write_tokens,
      cache_write_hour_tokens = excluded.cache_write_hour_tokens, reasoning_tokens = excluded.reasoning_tokens,
      estimated = excluded.estimated,
      audio_prompt_tokens = excluded.audio_prompt_tokens, cached_audio_tokens = excluded.cached_audio_tokens,
      audio_completion_tokens = excluded.audio_completion_tokens,
      tool_calls = excluded.tool_calls, vendor_cost_nano_usd = excluded.vendor_cost_nano_usd,
      price = excluded.price, charge = excluded.charge, replaced_charge = held.charge,
      voided_by = null, voided_charge = null,
      outcome = excluded.outcome, delivered = excluded.delivered, streamed = excluded.streamed,
      attempts = excluded.attempts, started_at = excluded.started_at, ended_at = excluded.ended_at,
      recorded_at = excluded.recorded_at
    where (excluded.rank > held.rank or (
        excluded.rank = 1 and held.rank = 1 and excluded.charge > coalesce(held.voided_charge, held.charge)
      ))
      and (excluded.account, excluded."window", excluded.unit) = (held.account, held."window", held.unit)
    returning account, "window", unit, charge - coalesce(replaced_charge, 0) as difference,
      coalesce(plan_version, 0) as plan_version, request_id
  )
  insert into metering.windows as held (account, "window", milli_tokens, nano_usd, unit, plan_version, version)
  select
    account, "window",
    coalesce(sum(difference) filter (where unit = 'tokens'), 0),
    coalesce(sum(difference) filter (where unit = 'usd'), 0),
    (array_agg(unit order by plan_version desc, request_id desc))[1], max(plan_version), 1
  from written
  group by account, "window"
  order by account, "window"
  on conflict (account, "window") do update set
    milli_tokens = held.milli_tokens + excluded.milli_tokens,
    nano_usd = held.nano_usd + excluded.nano_usd,
    -- No report has written to a window of version 0.
    unit = case when held.version = 0 or excluded.plan_version >= greatest(held.plan_version, 1) then excluded.unit
      else held.unit end,
    plan_version = greatest(held.plan_version, excluded.plan_version),
    version = held.version + 1
  returning account, "window", version, (select count(*) from written)::int as written,
    exists (select from written join metering.key_windows key using (account)) as "hasKeys",
    case unit when 'tokens' then milli_tokens else nano_usd end as settled`

export interface Recorded {
  /** The windows whose totals moved. Those of mere repetitions are not among them. */
  moved: WindowTotal[]
  /** Each report has its row now: none was a repetition or of a lower rank. */
  isComplete: boolean
  /** The ledger may keep totals of the requests' keys: they are to be read with those of the windows. */
  hasKeys: boolean
  /** The windows and keys of rows that are void for a claim of these reports, also where they were before. */
  voided: TotalQuery[]
}

export async function recordReports(database: MeteringDatabase, reports: readonly Report[]): Promise<Recorded> {
  if (reports.every(({ event }) => event.claim === undefined)) {
    return { ...(await writeReports(database, reports)), voided: [] }
  }
  return database.transaction().execute(async (transaction) => {
    const claims = claimsOf(reports)
    await lockClaims(transaction, claims)
    const { moved, ...written } = await writeReports(transaction, reports)
    const byVoiding = await voidLostRuns(transaction, claims)
    const latest = new Map([...moved, ...byVoiding].map((total) => [windowKey(total), total]))
    return { ...written, moved: [...latest.values()], voided: await readVoided(transaction, claims) }
  })
}

async function writeReports(database: MeteringDatabase, reports: readonly Report[]): Promise<Omit<Recorded, 'voided'>> {
  const records = reports.map(({ event: { usage, ...event }, rank, charge }) => ({ ...event, ...usage, rank, charge }))
  const { rows } = await record(JSON.stringify(records)).execute(database)
  return {
    moved: rows.map(({ account, window, settled, version }) => ({ account, window, settled, version })),
    isComplete: (rows[0]?.written ?? 0) === reports.length,
    // An event of a project may meet the first need of its key's total: this statement began before it.
    hasKeys: rows.some(({ hasKeys }) => hasKeys) || reports.some(({ event }) => event.isProject),
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export interface RecordedRequest {
  account: string
  keyId: string
  tokens: number
  /** The report of an edge stands; one of a router may be replaced. */
  mayChange: boolean
}

/** The rows of these requests, as far as there are any, by request id in lower case. */
export async function readRecorded(
  database: MeteringDatabase,
  requestIds: readonly string[],
): Promise<Map<string, RecordedRequest>> {
  if (requestIds.length === 0) return new Map()
  const { rows } = await sql<RecordedRequest & { id: string }>`
    select request_id::text as id, account, key_id as "keyId", prompt_tokens + completion_tokens as tokens,
      rank < ${RANK.edge} as "mayChange"
    from metering.ledger where request_id = any(${requestIds.filter((id) => UUID.test(id))}::uuid[])`.execute(database)
  return new Map(rows.map(({ id, ...request }) => [id, request]))
}

/** Parks unrecordable reports. Parking the same thing again changes nothing. */
export async function parkRejected(database: MeteringDatabase, rejected: readonly RejectedReport[]): Promise<void> {
  for (const { payload, reason, sequence } of rejected) {
    const digest = createHash('sha256').update(payload).digest()
    await database
      .insertInto('metering.rejected')
      .values({ digest, payload, reason: withoutNul(reason), stream_sequence: sequence })
      .onConflict((conflict) => conflict.column('digest').doNothing())
      .execute()
  }
}

/** PostgreSQL's text holds every character but this one. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '␀')
}

/**
 * The ledger's months, in UTC: a request belongs to the month in which its id was made. The current and the next two exist ahead
 * of time, others from the first row for them.
 *
 * Ids of an impossible time (more than two years back or two months ahead, or no UUIDv7 at all) stay in the default partition. So
 * a wrong clock creates no thousand tables, and no report is refused. Rows that already lie in the default partition move along
 * when their month is made, so a request never has two rows.
 */
export interface Partitions {
  /** Makes the months of these requests, where they are missing. Costs nothing once they are there. */
  ensureFor(requestIds: readonly string[]): Promise<void>
  /** Makes the current month and the next ones. */
  ensureAhead(): Promise<void>
}

const MONTHS_BACK = 24
const MONTHS_AHEAD = 2
const HOUR_MS = 3_600_000
const LOCK_TIMEOUT_MS = 2_000
/** Any number that nothing else in this database locks. */
const PARTITIONS_LOCK = 7_241_906_553

export function createPartitions(database: MeteringDatabase, now: () => number = Date.now): Partitions {
  const made = new Set<Month>()

  async function ensure(months: Iterable<Month>): Promise<void> {
    for (const month of months) {
      if (made.has(month)) continue
      await makeMonth(database, month)
      made.add(month)
    }
  }

  return {
    ensureFor(requestIds) {
      const current = monthOf(now())
      const first = addMonths(current, -MONTHS_BACK)
      const last = addMonths(current, MONTHS_AHEAD)
      const months = new Set(requestIds.map(monthOfRequest))
      return ensure([...months].filter((month) => month !== null && month >= first && month <= last) as Month[])
    },
    ensureAhead() {
      const current = monthOf(now())
      return ensure(Array.from({ length: MONTHS_AHEAD + 1 }, (_, index) => addMonths(current, index)))
    },
  }
}

async function makeMonth(database: MeteringDatabase, month: Month): Promise<void> {
  const name = `metering.ledger_${month.replace('-', '_')}`
  const partition = sql.raw(name)
  const from = leastRequestIdOf(month)
  const to = leastRequestIdOf(addMonths(month, 1))
  await database.transaction().execute(async (transaction) => {
    // A backup reads the ledger for long. All who use the ledger would wait behind this statement.
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(transaction)
    await sql`select pg_advisory_xact_lock(${PARTITIONS_LOCK})`.execute(transaction)
    const { rows } = await sql<{ exists: boolean }>`select to_regclass(${name}) is not null as exists`.execute(
      transaction,
    )
    if (rows[0]?.exists) return
    await sql`create table ${partition} (like metering.ledger including defaults including indexes)`.execute(
      transaction,
    )
    await sql`
      with moved as (
        delete from metering.ledger_elsewhen where request_id >= ${from} and request_id < ${to} returning *
      )
      insert into ${partition} select * from moved`.execute(transaction)
    await sql`
      alter table metering.ledger attach partition ${partition} for values from (${sql.lit(from)}) to (${sql.lit(to)})
    `.execute(transaction)
  })
}

/**
 * Begins at once. A failure is logged and tried again an hour later: the month is made at the latest with its first row.
 */
export async function keepPartitionsAhead(partitions: Partitions, logger: Logger): Promise<Disposable> {
  const ensureAhead = () =>
    partitions.ensureAhead().catch((error: unknown) => {
      logger.warn({ err: error }, 'the next months of the ledger could not be made')
    })
  await ensureAhead()
  const timer = setInterval(() => void ensureAhead(), HOUR_MS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** A month of a calendar year in UTC, as windows are written: `2026-11`. */
type Month = string

export function monthOf(timeMs: number): Month {
  return new Date(timeMs).toISOString().slice(0, 7)
}

function startOfMonthMs(month: Month): number {
  return Date.parse(`${month}-01T00:00:00.000Z`)
}

export function addMonths(month: Month, count: number): Month {
  const start = new Date(startOfMonthMs(month))
  return monthOf(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + count, 1))
}

/**
 * The month in which a UUIDv7 was made; of any other UUID, the month of its first 48 bits, or null beyond the calendar.
 */
export function monthOfRequest(requestId: string): Month | null {
  const timeMs = timeOfRequestMs(requestId)
  return timeMs < Date.UTC(9999, 0) ? monthOf(timeMs) : null
}

/** The least UUID of this month: ids of the month lie from its bound up to the next month's. */
export function leastRequestIdOf(month: Month): string {
  const hex = startOfMonthMs(month).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
