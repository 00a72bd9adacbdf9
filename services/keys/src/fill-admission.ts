/**
 * Writes what this service knows of an account into the admission store.
 *
 * The account is held while its facts are on their way, so a change (a revoke, a new plan) commits only after older
 * facts have arrived, and what it then writes itself is the last word. Versions guard against anything later still, and
 * the store's epoch against a store that forgot, meanwhile, what it had been told.
 */

import { unitOf } from './core/plans.ts'
import { holdAccount, type Account } from './db/accounts.ts'
import { readKeyStates } from './db/keys.ts'
import { readExtra } from './db/top-ups.ts'
import type { KeysContext } from './keys-context.ts'

/** `keyHash`: a key to tell of even if it is dead. Undefined when there is no such account. */
export async function fillAdmission(
  { database, admission, config }: Pick<KeysContext, 'database' | 'admission' | 'config'>,
  tag: string,
  keyHash: Uint8Array | null = null,
): Promise<Account | undefined> {
  const { window, epoch } = await admission.currentWindow(tag)
  return database.transaction(async (transaction) => {
    const account = await holdAccount(transaction, tag)
    if (!account) return undefined
    const keys = await readKeyStates(transaction, tag, keyHash)
    const { version, plan, overage } = account
    const extra = await readExtra(transaction, { account: tag, unit: unitOf(config.current.plans, plan), window })
    const keyFacts = keys.map(({ hash, ...state }) => ({ ...state, keyHash: hash.toString('base64url') }))
    const facts = { account: tag, version, plan, overage, extra, window, epoch, keys: keyFacts }
    // oxlint-disable-next-line unicorn/no-array-fill-with-reference-type -- the store's fill, not an array's
    await admission.fill(facts)
    return account
  })
}
