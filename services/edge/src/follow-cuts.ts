/**
 * Follows the keys service's word of dead keys: a revoked key's open answers are cut, a rotated key's may finish. No
 * admission depends on it; that is refused by the tombstone in the admission store.
 */

import type { Bus } from '@gateway/bus/port'
import { keysInvalidated } from '@gateway/contracts/developer-keys-api'
import { subjects } from '@gateway/contracts/subjects'
import type { Logger } from '@gateway/telemetry/logger'
import type { RunningRequests } from './running-requests.ts'

export function followCuts(bus: Bus, running: RunningRequests, logger: Logger): Promise<AsyncDisposable> {
  return bus.listen(subjects.keysInvalidated, (payload) => {
    const parsed = keysInvalidated.safeParse(parseJson(payload))
    if (!parsed.success) return logger.error({ err: parsed.error }, 'a word of a dead key is not readable')
    if (parsed.data.reason === 'revoked') running.cutKey(parsed.data.keyHash)
  })
}

function parseJson(payload: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(payload).toString())
  } catch {
    return undefined
  }
}
