/**
 * Admission does not know an account's window (a restart, a flush, a first request): writes the ledger's total there.
 *
 * Reports that are still on their way through the stream come later, by the consumer, as newer versions of the total.
 */

import type { MeteringAdmission } from '@gateway/admission/metering'
import { warmRequest, type WarmReply } from '@gateway/contracts/metering-api'
import type { Queryable } from '@gateway/postgres/database'
import { readTotals, setUnit } from '../db/windows.ts'

export interface WarmContext {
  database: Queryable
  admission: MeteringAdmission
}

export async function warm({ database, admission }: WarmContext, question: unknown): Promise<WarmReply> {
  const { account, unit } = warmRequest.parse(question)
  const { window } = await admission.currentWindow()
  if (unit) await setUnit(database, { account, window, unit })
  const [total] = await readTotals(database, [{ account, window }])
  await admission.warm(total ?? { account, window, settled: 0, version: 0 })
  return { kind: 'warmed' }
}
