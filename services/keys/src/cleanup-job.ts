/**
 * The background work of keys. It seals values of a former master key under the current one, so that an operator can
 * retire the former. It deletes client networks, totals and published events that no longer count, and old rows of the audit log.
 * Any replica may do it, at its start and every ten
 * minutes; a failure is logged and tried again.
 */

import { repeat } from '@gateway/service/repeat'
import { administrationOf } from '@gateway/contracts/administration/settings'
import { deleteOldRows } from './db/audit-log.ts'
import { forgetOldEvents } from './db/events.ts'
import { forgetOldNetworks } from './db/guest-networks.ts'
import { forgetOldSpending } from './db/spending.ts'
import type { KeysContext } from './keys-context.ts'
import { reencryptSomeKeys } from './re-encrypt-keys.ts'

const EVERY_MS = 600_000
const DAY_MS = 86_400_000
/** Writers of the audit log wait for the deletion of so many rows. */
const AUDIT_ROWS_AT_ONCE = 500

type CleanupContext = Pick<KeysContext, 'database' | 'masterKeys' | 'logger' | 'config'>

export function startCleanupJob(context: CleanupContext): AsyncDisposable {
  return repeat(async (stopping) => {
    try {
      await forgetOldNetworks(context.database)
      await forgetOldAuditRows(context, stopping)
      await forgetOldSpending(context.database)
      await forgetOldEvents(context.database)
      while (!stopping.aborted && (await reencryptSomeKeys(context)) > 0);
    } catch (error) {
      context.logger.warn({ err: error }, 'tidying up failed; it will be tried again')
    }
    return EVERY_MS
  })
}

async function forgetOldAuditRows({ database, config }: CleanupContext, stopping: AbortSignal): Promise<void> {
  const { retentionDays } = administrationOf(config.current).audit
  const beforeMs = Date.now() - retentionDays * DAY_MS
  while (!stopping.aborted && (await deleteOldRows(database, beforeMs, AUDIT_ROWS_AT_ONCE)) > 0);
}
