/**
 * Notes when keys were last used, as metering tells it. A note that is lost is made good by the key's next use.
 */

import type { Bus } from '@gateway/bus/port'
import { keysUsed } from '@gateway/contracts/developer-keys-api'
import { subjects } from '@gateway/contracts/subjects'
import type { Database } from '@gateway/postgres/database'
import type { Logger } from '@gateway/telemetry/logger'
import { noteUse } from './db/keys.ts'

export function listenForUse(parts: { bus: Bus; database: Database; logger: Logger }): Promise<AsyncDisposable> {
  const note = async (word: Uint8Array): Promise<void> => {
    const { uses } = keysUsed.parse(JSON.parse(Buffer.from(word).toString()))
    await noteUse(parts.database, uses)
  }
  return parts.bus.listen(subjects.keysUsed, (word) => {
    note(word).catch((error: unknown) => parts.logger.warn({ err: error }, 'the use of keys could not be noted'))
  })
}
