/**
 * Admission does not know an account's window (a restart, a flush, a first request): writes the ledger's total there.
 *
 * Reports that are still on their way through the stream come later, by the consumer, as newer versions of the total.
 */

import type { MeteringAdmission } from '@gateway/admission/metering'
import { warmRequest, type WarmReply, type WarmRequest } from '@gateway/contracts/metering-api'
import type { Queryable } from '@gateway/postgres/database'
import { readTotals, setUnit } from '../db/windows.ts'
import type { StandingTeller } from '../tell-standing.ts'

export interface WarmContext {
  database: Queryable
  admission: MeteringAdmission
  standing: StandingTeller
}

export async function warm(context: WarmContext, question: unknown): Promise<WarmReply> {
  const request = warmRequest.parse(question)
  const write = () => writeTotal(context, request)
  // A second try: the store may have begun a new life between its epoch and the writing.
  await write().catch(write)
  return { kind: 'warmed' }
}

async function writeTotal(
  { database, admission, standing }: WarmContext,
  { account, unit, planVersion }: WarmRequest,
): Promise<void> {
  const { window, epoch } = await admission.currentWindow(account)
  if (unit) {
    await setUnit(database, { account, window, unit, planVersion })
    // Another plan has another limit.
    standing.moved([{ account, window }])
  }
  const [total = { account, window, settled: 0, version: 0 }] = await readTotals(database, [{ account, window }])
  await admission.warm(epoch === undefined ? total : { ...total, epoch })
}
