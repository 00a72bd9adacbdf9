/**
 * An operator wants everything sealed under the current master key now, and to know when it is.
 */

import type { ResealReply } from '@gateway/contracts/accounts-api'
import { readMasterKeyIds } from '../db/keys.ts'
import type { KeysContext } from '../keys-context.ts'
import { sealSomeAnew } from '../seal-anew.ts'

/** Well within the time that an asker waits. */
const WORK_FOR_MS = 2_000

export async function reseal(context: Pick<KeysContext, 'database' | 'masterKeys'>): Promise<ResealReply> {
  const stopAtMs = performance.now() + WORK_FOR_MS
  let sealedAnew = 0
  for (let sealed = 1; sealed > 0 && performance.now() < stopAtMs;) {
    sealed = await sealSomeAnew(context)
    sealedAnew += sealed
  }
  const ids = await readMasterKeyIds(context.database)
  return { sealedAnew, isComplete: ids.every((id) => id === context.masterKeys.current.id) }
}
