/**
 * Parks what cannot be recorded. Parking the same thing again changes nothing.
 */

import { createHash } from 'node:crypto'
import type { Queryable } from '@gateway/postgres/database'
import type { RejectedReport } from '../core/read-reports.ts'

export async function parkRejected(database: Queryable, rejected: readonly RejectedReport[]): Promise<void> {
  for (const { payload, reason, sequence } of rejected) {
    const digest = createHash('sha256').update(payload).digest()
    await database.query(
      `insert into metering.rejected (digest, payload, reason, stream_sequence) values ($1, $2, $3, $4)
       on conflict (digest) do nothing`,
      [digest, payload, withoutNul(reason), sequence],
    )
  }
}

/** PostgreSQL's text holds every character but this one. */
function withoutNul(text: string): string {
  return text.replaceAll('\0', '␀')
}
