/**
 * Writes accounts' state into the admission store.
 *
 * It holds no lock while it writes to the store. One statement reads the state of all accounts at their versions, and
 * the store takes only newer ones. The epoch shows a store that forgot meanwhile. A store that is emptied by hand keeps
 * its epoch, so this file reads the versions again afterwards, and writes changed state again.
 */

import type { KeysAdmission } from '@gateway/admission/port'
import type { ConfigSource } from '@gateway/config/config-source'
import { extraIn } from './core/plans.ts'
import { readAdmissionState, readHeldPlans, type AdmissionState, type RequestedState } from './db/account-state.ts'
import type { KeysDatabase } from './db/tables.ts'

export interface RequestedAccount {
  account: string
  /** The keys to report even if they are dead. */
  keyHashes: readonly Buffer[]
}

interface Parts {
  database: KeysDatabase
  admission: KeysAdmission
  config: ConfigSource
}
type Filled = AdmissionState | undefined

/** Returns undefined when the account does not exist. */
export async function fillAdmission(parts: Parts, account: string): Promise<Filled> {
  const [outcome] = await fillAccounts(parts, [{ account, keyHashes: [] }])
  if (outcome!.status === 'rejected') throw outcome!.reason
  return outcome!.value
}

/** Fills distinct accounts, each with its own outcome, in their order. */
export async function fillAccounts(
  parts: Parts,
  requested: readonly RequestedAccount[],
): Promise<PromiseSettledResult<Filled>[]> {
  const { admission, database } = parts
  // First the store's epoch, then the state that it will be held against.
  const clocks = await Promise.allSettled(requested.map(({ account }) => admission.currentWindow(account)))
  const questions = requested.flatMap((one, index): RequestedState[] => {
    const clock = clocks[index]!
    return clock.status === 'fulfilled' ? [{ ...one, window: clock.value.window }] : []
  })
  const facts = await readAdmissionState(database, questions)
  const outcomes = await Promise.allSettled(
    clocks.map(async (clock, index): Promise<Filled> => {
      if (clock.status === 'rejected') throw clock.reason
      const held = facts.get(requested[index]!.account)
      if (held) await write(parts, held, clock.value.epoch)
      return held
    }),
  )
  return again(parts, requested, outcomes)
}

async function write({ admission, config }: Parts, held: AdmissionState, epoch: string | undefined): Promise<void> {
  const { account, version, plan, overage, window, moreLater, keys } = held
  const extra = extraIn(config.current.plans, held)
  const keyFacts = keys.map(({ keyId: _id, ...state }) => state)
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- the store's fill, not an array's
  await admission.fill({ account, version, plan, overage, extra, window, moreLater, epoch, keys: keyFacts })
}

/** Writes the accounts again that changed on the way to the store. */
async function again(
  parts: Parts,
  requested: readonly RequestedAccount[],
  outcomes: PromiseSettledResult<Filled>[],
): Promise<PromiseSettledResult<Filled>[]> {
  const plans = await readHeldPlans(
    parts.database,
    outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' && outcome.value ? [outcome.value.account] : [])),
  )
  const versions = new Map(plans.map(({ account, version }) => [account, version]))
  const changed = requested.filter((_, index) => {
    const outcome = outcomes[index]!
    return (
      outcome.status === 'fulfilled' && outcome.value && outcome.value.version !== versions.get(outcome.value.account)
    )
  })
  if (changed.length === 0) return outcomes
  const refilled = await fillAccounts(parts, changed)
  return requested.map((one, index) => refilled[changed.indexOf(one)] ?? outcomes[index]!)
}
