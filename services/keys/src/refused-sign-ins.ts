/**
 * Refused sign-ins in the audit log. A flood of them writes a few rows a minute, and the last of these rows counts the others. A
 * process that is killed loses the count of one minute, and no row.
 */

import type { CallOrigin } from '@gateway/contracts/administration/envelope'
import type { Logger } from '@gateway/telemetry/logger'
import { writeAuditEntry } from './core/audit-entry.ts'
import { appendToAuditLog } from './db/audit-log.ts'
import type { KeysDatabase } from './db/tables.ts'

export interface RefusedSignIns extends AsyncDisposable {
  note(refusal: Refusal, origin: CallOrigin): void
}

interface Refusal {
  code: string
  message: string
  count: number
}

/** Of one process. */
export const ROWS_PER_MINUTE = 10
const MINUTE_MS = 60_000
const NOBODY = { kind: 'unknown', id: 'unknown', email: null } as const

interface Uncounted {
  refusal: Refusal
  origin: CallOrigin
}

export function openRefusedSignIns(
  { database, logger }: { database: KeysDatabase; logger: Logger },
  minuteMs = MINUTE_MS,
): RefusedSignIns {
  const writing = new Set<Promise<void>>()
  let written = 0
  let uncounted: Uncounted | null = null
  let minute: NodeJS.Timeout | null = null

  function write({ refusal: { code, message, count }, origin }: Uncounted): void {
    const details = { error_code: code, error_message: message, count }
    const entry = writeAuditEntry({ type: 'login.failed', details }, NOBODY, origin)
    const row = database
      .transaction()
      .execute((transaction) => appendToAuditLog(transaction, [entry]))
      .catch((error: unknown) => logger.warn({ err: error, count }, 'refused sign-ins are not in the audit log'))
    writing.add(row)
    void row.finally(() => writing.delete(row))
  }

  function endMinute(): void {
    if (minute) clearTimeout(minute)
    minute = null
    written = 0
    if (uncounted) write(uncounted)
    uncounted = null
  }

  return {
    note(refusal, origin) {
      minute ??= setTimeout(endMinute, minuteMs).unref()
      if (written < ROWS_PER_MINUTE) {
        written++
        write({ refusal, origin })
      } else {
        const count = refusal.count + (uncounted?.refusal.count ?? 0)
        uncounted = { refusal: { ...refusal, count }, origin }
      }
    },
    async [Symbol.asyncDispose]() {
      endMinute()
      await Promise.all(writing)
    },
  }
}
