/**
 * The bytes of a part's file. The same entries give the same bytes, so a file that is written again after a crash does not change.
 *
 * A part is encoded in memory, a page of rows at a time. It has at most some ten thousand rows.
 */

import { createGzip } from 'node:zlib'
import { once } from 'node:events'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { ExportColumns, ExportConfig } from '@gateway/contracts/exports'
import { cloudEventLine } from './core/cloud-events.ts'
import { type Column, jsonLine, parquetSchema, parquetValue } from './core/columns.ts'
import type { Entry } from './core/entries.ts'
import { focusColumns } from './core/focus-columns.ts'
import { ledgerColumns } from './core/ledger-columns.ts'

export interface EncodedPart {
  bytes: Uint8Array
  rows: number
  corrections: number
}

export type Pages = AsyncIterable<Entry[]>

const COLUMNS: Record<Exclude<ExportColumns, 'cloudevents'>, readonly Column[]> = {
  ledger: ledgerColumns,
  focus: focusColumns,
}

export async function encodePart(
  { format, columns }: Pick<ExportConfig, 'format' | 'columns'>,
  pages: Pages,
): Promise<EncodedPart> {
  const counts = { rows: 0, corrections: 0 }
  const counted = count(pages, counts)
  const bytes = await (format === 'cloudevents'
    ? encodePlain(cloudEventLine, counted)
    : columns === 'cloudevents'
      ? encodeLines(cloudEventLine, counted)
      : format === 'ndjson'
        ? encodeLines((entry) => jsonLine(COLUMNS[columns], entry), counted)
        : encodeParquet(COLUMNS[columns], counted))
  return { bytes, ...counts }
}

async function* count(pages: Pages, counts: { rows: number; corrections: number }): Pages {
  for await (const page of pages) {
    for (const { kind } of page) {
      if (kind === 'original') counts.rows++
      if (kind === 'correction') counts.corrections++
    }
    yield page
  }
}

async function encodeLines(lineOf: (entry: Entry) => string, pages: Pages): Promise<Uint8Array> {
  const gzip = createGzip()
  const chunks: Buffer[] = []
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = once(gzip, 'end')
  ended.catch(() => {})
  try {
    for await (const page of pages) {
      if (!gzip.write(page.map(lineOf).join(''))) await once(gzip, 'drain')
    }
    gzip.end()
    await ended
  } finally {
    gzip.destroy()
  }
  return Buffer.concat(chunks)
}

/** For a push, which sends them as JSON. */
async function encodePlain(lineOf: (entry: Entry) => string, pages: Pages): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  for await (const page of pages) chunks.push(Buffer.from(page.map(lineOf).join('')))
  return Buffer.concat(chunks)
}

async function encodeParquet(columns: readonly Column[], pages: Pages): Promise<Uint8Array> {
  const bytes = new ByteWriter()
  const writer = new ParquetWriter({ writer: bytes, schema: parquetSchema(columns), createdBy: 'model-gateway' })
  for await (const page of pages) {
    const columnData = columns.map((column) => {
      return { name: column.name, data: page.map((entry) => parquetValue(column, column.of(entry))) }
    })
    await writer.write({ columnData, rowGroupSize: page.length })
  }
  await writer.finish()
  return bytes.getBytes()
}
