/**
 * An account's usage in the current window, and that of its keys, from the ledger. It replies without the admission store, too: then this process' own
 * clock gives the month.
 */

import { monthOf } from '@gateway/admission/month'
import type { MeteringAdmission } from '@gateway/admission/port'
import type { QuotaReply, QuotaRequest } from '@gateway/contracts/metering-api'
import { keepKeyTotals } from '../db/key-totals.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { readUsed } from '../db/windows.ts'

interface QuotaContext {
  database: MeteringDatabase
  admission: MeteringAdmission
  now(): number
}

export async function quota(
  { database, admission, now }: QuotaContext,
  { account, unit, keyIds }: QuotaRequest,
): Promise<QuotaReply> {
  const { window, resetAtMs } = await admission.currentWindow().catch(() => {
    const { window: month, resetsAtMs } = monthOf(now())
    return { window: month, resetAtMs: resetsAtMs }
  })
  if (!keyIds) {
    const { used } = await readUsed(database, { account, window, unit })
    return { used, window, resetAtMs }
  }
  await keepKeyTotals(
    database,
    keyIds.map((keyId) => ({ account, window, keyId })),
  )
  return { ...(await readUsed(database, { account, window, unit, keyIds })), window, resetAtMs }
}
