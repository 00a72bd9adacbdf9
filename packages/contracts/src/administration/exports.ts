/**
 * `/admin/v1/exports`: the exports of the config, and how far each is.
 */

import * as z from 'zod'
import { nothing, type Operation, unixTime } from './operation.ts'

const ledgerExport = z.object({
  id: z.string(),
  object: z.literal('export'),
  to: z.string(),
  format: z.string(),
  columns: z.string(),
  /** The last file that is complete, below `to`. */
  last_file: z.string().nullable(),
  last_written_at: unixTime.nullable(),
  files: z.int(),
  /** Rows of the ledger in these files, and corrections of them. */
  rows: z.int(),
  corrections: z.int(),
  /** Rows that are in no file yet, those of today included. */
  pending_rows: z.int(),
  /** For how long the rows of an ended day have waited for their file; 0 where none do. */
  behind_seconds: z.int(),
  /** Of the last attempt, where it failed. */
  last_error: z.string().nullable(),
  failed_at: unixTime.nullable(),
})
export type ListedExport = z.input<typeof ledgerExport>

export const exportOperations = {
  'exports.list': {
    method: 'GET',
    path: '/admin/v1/exports',
    service: 'metering',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({ object: z.literal('list'), data: z.array(ledgerExport) }),
    about:
      'lists the exports of the config, each with its last file, its rows, the time that it is behind, and its last error',
  },
  'exports.run': {
    method: 'POST',
    path: '/admin/v1/exports/{export_id}/run',
    service: 'metering',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: ledgerExport,
    about: 'writes the rows that are here within seconds, instead of at the end of their day; replies at once',
  },
} as const satisfies Record<string, Operation>
