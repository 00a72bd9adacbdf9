/**
 * Writes accounts' state into the admission store.
 *
 * Of a project it writes the requested keys alone, each with its limits.
 *
 * It holds no lock while it writes to the store. One statement reads the state of all accounts at their versions, and
 * the store takes only newer ones. The epoch shows a store that forgot meanwhile. A store that is emptied by hand keeps
 * its epoch, so this file reads the versions again afterwards, and writes changed state again.
 */

import type { KeysAdmission, ProjectFacts } from '@gateway/admission/port'
import type { ConfigSource } from '@gateway/config/config-source'
import { limitsForAdmission } from './core/key-limits.ts'
import { extraIn, unitOf } from './core/plans.ts'
import { readAdmissionState, readHeldPlans, type AdmissionState, type RequestedState } from './db/account-state.ts'
import { readProjectFacts } from './db/project-facts.ts'
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

/** `keyHashes`: as in {@link RequestedAccount}. Returns undefined when the account does not exist. */
export async function fillAdmission(parts: Parts, account: string, keyHashes: readonly Buffer[] = []): Promise<Filled> {
  const [outcome] = await fillAccounts(parts, [{ account, keyHashes }])
  if (outcome!.status === 'rejected') throw outcome!.reason
  return outcome!.value
}

/** Fills distinct accounts, each with its own outcome, in their order. */
export async function fillAccounts(
  parts: Parts,
  requested: readonly RequestedAccount[],
): Promise<PromiseSettledResult<Filled>[]> {
  const { admission, database, config } = parts
  // First the store's epoch, then the state that it will be held against.
  const clocks = await Promise.allSettled(requested.map(({ account }) => admission.currentWindow(account)))
  const questions = requested.flatMap((one, index): RequestedState[] => {
    const clock = clocks[index]!
    return clock.status === 'fulfilled' ? [{ ...one, window: clock.value.window }] : []
  })
  const facts = await readAdmissionState(database, questions)
  // Behind the state: facts that are newer than its version do no harm, and the next fill has their own version.
  const projects = [...facts.values()].filter(({ kind }) => kind === 'project')
  const projectFacts = await readProjectFacts(
    database,
    projects.map(({ account, plan }) => ({ account, unit: unitOf(config.current.plans, plan) })),
  )
  const outcomes = await Promise.allSettled(
    clocks.map(async (clock, index): Promise<Filled> => {
      if (clock.status === 'rejected') throw clock.reason
      const held = facts.get(requested[index]!.account)
      if (held) await write(parts, held, { epoch: clock.value.epoch, project: projectFacts.get(held.account) })
      return held
    }),
  )
  return again(parts, requested, outcomes)
}

async function write(
  { admission, config }: Parts,
  held: AdmissionState,
  { epoch, project }: { epoch: string | undefined; project: ProjectFacts | undefined },
): Promise<void> {
  const { account, version, plan, overage, window, moreLater } = held
  const extra = extraIn(config.current.plans, held)
  const unit = unitOf(config.current.plans, plan)
  const keys = held.keys.map(({ keyId, keyHash, version: ofKey, active, limits }) => {
    const own = limits ? limitsForAdmission(keyId, limits, unit) : undefined
    return { keyHash, version: ofKey, active, limits: own }
  })
  // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- the store's fill, not an array's
  await admission.fill({ account, version, plan, overage, extra, window, moreLater, epoch, project, keys })
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
