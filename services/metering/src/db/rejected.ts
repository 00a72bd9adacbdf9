/**
 * Parks what cannot be recorded. Parking the same thing again changes nothing.
 */

import { createHash } from 'node:crypto'
import type { RejectedReport } from '../core/read-reports.ts'
import type { MeteringDatabase } from './tables.ts'

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
