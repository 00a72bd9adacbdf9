/**
 * Makes a key for an account whose row the transaction holds. The account's version has counted it already.
 */

import { newKey } from './core/new-key.ts'
import type { Account } from './db/accounts.ts'
import { insertKey, type StoredKey } from './db/keys.ts'
import type { KeysDatabase } from './db/tables.ts'
import { fillAdmission } from './fill-admission.ts'
import type { KeysContext } from './keys-context.ts'

export async function makeKey(
  { masterKeys }: Pick<KeysContext, 'masterKeys'>,
  transaction: KeysDatabase,
  account: Account,
): Promise<StoredKey> {
  const key = newKey(masterKeys, account.tag)
  await insertKey(transaction, key, { account: account.tag, version: account.version })
  return { ...key, account: account.tag, plan: account.plan, ticket: null }
}

/** Spares a new key's first request a miss. When it fails, that request fills. */
export async function fillBeforehand(
  context: KeysContext,
  account: string,
  keyHashes: readonly Buffer[] = [],
): Promise<void> {
  await fillAdmission(context, account, keyHashes).catch((error: unknown) => {
    context.logger.warn({ err: error, account }, 'a new key could not be written to the admission store')
  })
}
