/**
 * Follows the keys service's word of dead keys: a revoked key's open answers are cut, a rotated key's may finish. No
 * admission depends on it; that is refused by the tombstone in the admission store.
 */

import type { Bus } from '@gateway/bus/port'
import { talkAs } from '@gateway/service/talk-as'
import type { RunningRequests } from './running-requests.ts'

export function followCuts(bus: Bus, running: RunningRequests): Promise<AsyncDisposable> {
  return talkAs('edge', bus).hear('keysInvalidated', ({ reason, keyHash }) => {
    if (reason === 'revoked') running.cutKey(keyHash)
  })
}
