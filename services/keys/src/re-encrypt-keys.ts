/**
 * Seals keys of a former master key under the current one. Each portion is a transaction, so an interruption loses
 * nothing, and replicas may work side by side.
 */

import type { ResealReply } from '@gateway/contracts/accounts-api'
import type { MasterKeys } from './core/master-keys.ts'
import { openKey, sealKey } from './core/new-key.ts'
import { lockFormerKeys, readMasterKeyIds, replaceSealed } from './db/keys.ts'
import type { KeysDatabase } from './db/tables.ts'
import type { KeysContext } from './keys-context.ts'

/** Refuses a `KEYS_MASTER_SECRET` that does not open everything that is sealed. */
export async function requireMasterKeys(database: KeysDatabase, masterKeys: MasterKeys): Promise<void> {
  const missing = (await readMasterKeyIds(database)).filter((id) => !masterKeys.byId.has(id))
  if (missing.length === 0) return
  throw new Error(`keys are sealed under master key ${missing.join(', ')}, which KEYS_MASTER_SECRET does not hold`)
}

type SealingContext = Pick<KeysContext, 'database' | 'masterKeys'>

/** Returns the number of keys; 0 when none is left, or other processes hold them. */
export async function reencryptSomeKeys({ database, masterKeys }: SealingContext): Promise<number> {
  return database.transaction().execute(async (transaction) => {
    const former = await lockFormerKeys(transaction, masterKeys.current.id)
    for (const key of former)
      await replaceSealed(transaction, key.keyId, sealKey(masterKeys, key.keyId, openKey(masterKeys, key)))
    return former.length
  })
}

/** Well within a caller's timeout. */
const WORK_FOR_MS = 2_000

/** Seals all keys under the current master key now, and reports to the operator whether that is complete. */
export async function reseal(context: SealingContext): Promise<ResealReply> {
  const stopAtMs = performance.now() + WORK_FOR_MS
  let resealed = 0
  for (let sealed = 1; sealed > 0 && performance.now() < stopAtMs;) {
    sealed = await reencryptSomeKeys(context)
    resealed += sealed
  }
  const ids = await readMasterKeyIds(context.database)
  return { sealedAnew: resealed, isComplete: ids.every((id) => id === context.masterKeys.current.id) }
}
