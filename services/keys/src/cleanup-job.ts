/**
 * The background work of keys. It seals values of a former master key under the current one, so that an operator can
 * retire the former. It deletes client networks that no longer count. Any replica may do it, at its start and every ten
 * minutes; a failure is logged and tried again.
 */

import { repeat } from '@gateway/service/repeat'
import { forgetOldNetworks } from './db/guest-networks.ts'
import type { KeysContext } from './keys-context.ts'
import { reencryptSomeKeys } from './re-encrypt-keys.ts'

const EVERY_MS = 600_000

export function startCleanupJob(context: Pick<KeysContext, 'database' | 'masterKeys' | 'logger'>): AsyncDisposable {
  return repeat(async (stopping) => {
    try {
      await forgetOldNetworks(context.database)
      while (!stopping.aborted && (await reencryptSomeKeys(context)) > 0);
    } catch (error) {
      context.logger.warn({ err: error }, 'tidying up failed; it will be tried again')
    }
    return EVERY_MS
  })
}
