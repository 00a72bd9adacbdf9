/**
 * Admission does not know an account's window, or a key's part of it (a restart, a flush, a first request): writes the ledger's
 * totals there.
 *
 * Reports that are still on their way through the stream come later, by the consumer, as newer versions of the total.
 * A store that forgot makes the edges request all accounts at once, so the handler batches them: one statement reads many totals.
 */

import type { MeteringAdmission } from '@gateway/admission/port'
import type { WarmReply, WarmRequest } from '@gateway/contracts/metering-api'
import { batchLookUps } from '@gateway/rpc/batch-look-ups'
import { keepKeyTotals } from '../db/key-totals.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { readTotalsSince, setUnit, type WindowTotal } from '../db/windows.ts'
import type { QuotaStatusPublisher } from '../publish-quota-status.ts'

interface WarmContext {
  database: MeteringDatabase
  admission: MeteringAdmission
  quotaStatus: QuotaStatusPublisher
}

const ACCOUNTS_AT_A_TIME = 256
const BATCHES_AT_ONCE = 2

export function warmTogether(context: WarmContext): (question: WarmRequest) => Promise<WarmReply> {
  const warm = batchLookUps<ColdAccount, void>({
    batchSize: ACCOUNTS_AT_A_TIME,
    concurrency: BATCHES_AT_ONCE,
    lookUp: (accounts) => warmMany(context, accounts),
  })
  return async ({ account, keyId, unit, planVersion }) => {
    if (unit) await changeUnit(context, { account, unit, planVersion })
    else await warm({ account, keyIds: keyId === undefined ? [] : [keyId] })
    return { kind: 'warmed' }
  }
}

interface ColdAccount {
  account: string
  /** Keys whose totals the store needs, too; all that it may know after a change of unit. */
  keyIds: readonly string[] | 'all'
}

type UnitChange = WarmRequest & Required<Pick<WarmRequest, 'unit'>>

/** A change of plan waits for no crowd. */
async function changeUnit(context: WarmContext, { account, unit, planVersion }: UnitChange): Promise<void> {
  const { database, admission, quotaStatus } = context
  const write = async (): Promise<void> => {
    const { window } = await admission.currentWindow(account)
    await setUnit(database, { account, window, unit, planVersion })
    // Another plan has another limit.
    quotaStatus.moved([{ account, window }])
    const [outcome] = await writeTotals(context, [{ account, keyIds: 'all' }])
    if (outcome!.status === 'rejected') throw outcome!.reason
  }
  // A second try: the store may have restarted between the read of its epoch and the write.
  await write().catch(write)
}

async function warmMany(context: WarmContext, questions: ColdAccount[]): Promise<PromiseSettledResult<void>[]> {
  const cold = [...Map.groupBy(questions, ({ account }) => account)].map(([account, ofAccount]) => {
    return { account, keyIds: [...new Set(ofAccount.flatMap(({ keyIds }) => keyIds))] }
  })
  const first = await writeTotals(context, cold)
  const failed = cold.filter((_, index) => first[index]!.status === 'rejected')
  // A second try, as above.
  const second = failed.length > 0 ? await writeTotals(context, failed) : []
  const outcomes = new Map(cold.map((one, index) => [one.account, second[failed.indexOf(one)] ?? first[index]!]))
  return questions.map(({ account }) => outcomes.get(account)!)
}

/** Accounts that differ, each with an outcome of its own, in their order. */
async function writeTotals(
  { database, admission }: WarmContext,
  accounts: readonly ColdAccount[],
): Promise<PromiseSettledResult<void>[]> {
  const clocks = await Promise.allSettled(accounts.map(({ account }) => admission.currentWindow(account)))
  const windows = accounts.flatMap(({ account, keyIds }, index) => {
    const clock = clocks[index]!
    return clock.status === 'fulfilled' ? [{ account, window: clock.value.window, keyIds }] : []
  })
  await keepKeyTotals(
    database,
    windows.flatMap(({ account, window, keyIds }) =>
      keyIds === 'all' ? [] : keyIds.map((keyId) => ({ account, window, keyId })),
    ),
  )
  const totals = Map.groupBy(await readTotalsSince(database, windows), ({ account }) => account)
  return Promise.allSettled(
    accounts.map(async ({ account }, index) => {
      const clock = clocks[index]!
      if (clock.status === 'rejected') throw clock.reason
      const { window, epoch } = clock.value
      const known = totals.get(account) ?? []
      const total = known.find((one) => one.window === window) ?? { account, window, settled: 0, version: 0 }
      // The store takes a month for empty when it begins, unless it has heard of it before.
      await publishLater(admission, known, window)
      await admission.warm(epoch === undefined ? total : { ...total, epoch })
    }),
  )
}

/** Where an edge's clock was ahead, or the store's went back. */
async function publishLater(admission: MeteringAdmission, totals: WindowTotal[], window: string): Promise<void> {
  for (const total of totals) if (total.window > window) await admission.applyTotal({ ...total, included: [] })
}
