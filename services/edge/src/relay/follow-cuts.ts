/**
 * Follows the keys service's news of dead keys. The edge cuts a key's open answers, and lets those of a rotated key finish.
 * No admission depends on it: the tombstone in the admission store refuses the key.
 */

import type { Bus } from '@gateway/bus/port'
import { talkAs } from '@gateway/service/talk-as'
import type { RunningRequests } from './running-requests.ts'

export function followCuts(bus: Bus, running: RunningRequests): Promise<AsyncDisposable> {
  return talkAs('edge', bus).hear('keysInvalidated', ({ reason, keyHash }) => {
    if (reason !== 'rotated') running.cutKey(keyHash)
  })
}
