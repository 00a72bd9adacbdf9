/**
 * Ends any key by its id, and seals keys under the newest master key.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { ended, revokeById } from '../handlers/developer-keys.ts'
import { reseal } from '../re-encrypt-keys.ts'
import type { AdministrationHandlers } from './call.ts'

/** OpenAI's form of a key's id, which the command line leaves out. */
const KEY_PREFIX = 'key_'

export const upkeepHandlers = {
  'keys.revoke': async (call, { key_id: id }) => {
    const keyId = id.startsWith(KEY_PREFIX) ? id.slice(KEY_PREFIX.length) : id
    const change = await revokeById(call.transaction, keyId, async (key) => call.audit(ended(key)))
    if (!change) throw new GatewayError('NOT_FOUND', 'There is no such key')
    // The first call may have failed before its announcement.
    call.afterCommit(() => call.context.changes.announce(change))
    return { id: keyId, object: 'key.revoked', account: change.account }
  },

  // Each portion is a transaction of its own; a portion that is cut off is made again.
  'keys.reseal': async (call) => {
    const resealed = await reseal(call.context)
    if (resealed.sealedAnew > 0)
      call.audit({ type: 'keys.resealed', details: { keys: resealed.sealedAnew, is_complete: resealed.isComplete } })
    return { resealed: resealed.sealedAnew, is_complete: resealed.isComplete }
  },
} satisfies Partial<AdministrationHandlers>
