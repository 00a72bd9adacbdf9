/**
 * The progress of each export, and an operator's request to write now. Any process replies: the state is in PostgreSQL.
 */

import type { ListedExport } from '@gateway/contracts/administration/exports'
import type { ExportConfig } from '@gateway/contracts/exports'
import { sql } from 'kysely'
import type { MeteringDatabase } from '../db/tables.ts'
import { behindMs, clockAt } from './core/plan-part.ts'

interface State {
  id: string
  lastFile: string | null
  lastWrittenAt: Date | null
  files: number
  rows: number
  corrections: number
  pendingRows: number
  /** The first day whose rows are in no complete file, but for late ones. */
  openDay: string | null
  lastError: string | null
  failedAt: Date | null
}

export async function readExports(
  database: MeteringDatabase,
  exports: readonly ExportConfig[],
  nowMs: number,
): Promise<ListedExport[]> {
  const states = new Map(
    (
      await readStates(
        database,
        exports.map(({ id }) => id),
      )
    ).map((state) => [state.id, state]),
  )
  return exports.map((config) => listed(config, states.get(config.id), nowMs))
}

function listed({ id, to, format, columns }: ExportConfig, state: State | undefined, nowMs: number): ListedExport {
  const behind = behindMs({ day: state?.openDay ?? null, clock: clockAt(nowMs), nowMs })
  return {
    id,
    object: 'export',
    to,
    format,
    columns,
    last_file: state?.lastFile ?? null,
    last_written_at: unixTimeOf(state?.lastWrittenAt),
    files: state?.files ?? 0,
    rows: state?.rows ?? 0,
    corrections: state?.corrections ?? 0,
    pending_rows: state?.pendingRows ?? 0,
    behind_seconds: Math.floor(behind / 1_000),
    last_error: state?.lastError ?? null,
    failed_at: unixTimeOf(state?.failedAt),
  }
}

function unixTimeOf(time: Date | null | undefined): number | null {
  return time ? Math.floor(time.getTime() / 1_000) : null
}

async function readStates(database: MeteringDatabase, ids: readonly string[]): Promise<State[]> {
  const { rows } = await sql<State>`
    select export.id, last_file as "lastFile", last_written_at as "lastWrittenAt", export.files, export.rows,
      export.corrections,
      last_error as "lastError", failed_at as "failedAt",
      (coalesce(noted.rows, 0) + coalesce(made.rows, 0))::bigint as "pendingRows",
      least(made.day, noted.day)::text as "openDay"
    from metering.exports export
    cross join lateral (
      select sum(cardinality(request_ids)) as rows, min(day) filter (where closed_through is null or day > closed_through) as day
      from metering.export_notes note where note.queue = export.queue
    ) noted
    cross join lateral (
      select sum(cardinality(request_ids)) as rows, min(day) as day
      from metering.export_parts part where part.queue = export.queue
    ) made
    where id = any(${ids}::text[])`.execute(database)
  return rows
}

/** The holder of the lease looks every few seconds. Returns false before the export has begun. */
export async function requestRun(database: MeteringDatabase, id: string): Promise<boolean> {
  const { rows } = await sql`
    update metering.exports set run_requested_at = now() where id = ${id} and has_begun returning id`.execute(database)
  return rows.length > 0
}
