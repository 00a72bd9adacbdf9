/**
 * Writes what this service knows of an account into the admission store.
 *
 * The account is held while its facts are on their way, so a change (a revoke, a new plan) commits only after older
 * facts have arrived, and what it then writes itself is the last word. Versions guard against anything later still.
 */

import type { Account } from './db/accounts.ts'
import { holdAccount } from './db/accounts.ts'
import { readKeyStates } from './db/keys.ts'
import { readExtra } from './db/top-ups.ts'
import type { KeysContext } from './keys-context.ts'
import { unitOf } from './core/plans.ts'

/** `keyHash`: a key to tell of even if it is dead. Undefined when there is no such account. */
export async function fillAdmission(
  { database, admission, config }: Pick<KeysContext, 'database' | 'admission' | 'config'>,
  tag: string,
  keyHash: Uint8Array | null = null,
): Promise<Account | undefined> {
  return database.transaction(async (transaction) => {
    const account = await holdAccount(transaction, tag)
    if (!account) return undefined
    const keys = await readKeyStates(transaction, tag, keyHash)
    await admission.fill({
      account: tag,
      version: account.version,
      plan: account.plan,
      overage: account.overage,
      extra: await readExtra(transaction, tag, unitOf(config.current.plans, account.plan)),
      keys: keys.map(({ hash, version, active }) => ({ keyHash: hash.toString('base64url'), version, active })),
    })
    return account
  })
}
