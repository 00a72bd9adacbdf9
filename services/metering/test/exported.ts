/**
 * The files of an export as a reader finds them, and the ledger that they stand for.
 */

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parquetReadObjects } from 'hyparquet'
import type { MeteringDatabase } from '../src/db/tables.ts'
import { sql } from 'kysely'

export interface ExportedRow {
  file: string
  request_id: string
  entry: 'original' | 'reversal' | 'correction'
  day: string
  late: boolean
  unit: string
  charge: number
  prompt_tokens: number
}

/** The names of all complete files, in the order of their parts. */
export async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  const partOf = (name: string) => /part-(\d+)/.exec(name)?.[1] ?? ''
  return names
    .filter((name) => /part-\d+\.(?:parquet|ndjson\.gz)$/.test(name) && !/\/\./.test(`/${name}`))
    .toSorted((a, b) => (partOf(a) < partOf(b) ? -1 : 1))
}

export async function readLines<Row = ExportedRow>(folder: string, file: string): Promise<Row[]> {
  const text = gunzipSync(await readFile(join(folder, file))).toString()
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

export async function readExported(folder: string): Promise<ExportedRow[]> {
  const rows: ExportedRow[] = []
  for (const file of await filesIn(folder)) {
    for (const row of await readLines(folder, file)) rows.push({ ...row, file })
  }
  return rows
}

export interface Summary {
  /** Each request with the number of its rows. */
  originals: Record<string, number>
  /** The sums of each request. */
  charges: Record<string, number>
  tokens: Record<string, number>
}

type Counted = Pick<ExportedRow, 'request_id' | 'entry' | 'charge' | 'prompt_tokens'>

export function summarize(rows: readonly Counted[]): Summary {
  const summary: Summary = { originals: {}, charges: {}, tokens: {} }
  for (const { request_id: id, entry, charge, prompt_tokens: tokens } of rows) {
    summary.originals[id] = (summary.originals[id] ?? 0) + (entry === 'original' ? 1 : 0)
    summary.charges[id] = (summary.charges[id] ?? 0) + charge
    summary.tokens[id] = (summary.tokens[id] ?? 0) + tokens
  }
  return summary
}

export async function summarizeLedger(database: MeteringDatabase): Promise<Summary> {
  const { rows } = await sql<{ id: string; charge: number; tokens: number }>`
    select request_id::text as id, charge, prompt_tokens as tokens from metering.ledger`.execute(database)
  return {
    originals: Object.fromEntries(rows.map(({ id }) => [id, 1])),
    charges: Object.fromEntries(rows.map(({ id, charge }) => [id, charge])),
    tokens: Object.fromEntries(rows.map(({ id, tokens }) => [id, tokens])),
  }
}

export function readParquet(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  return parquetReadObjects({ file: Uint8Array.from(bytes).buffer })
}
