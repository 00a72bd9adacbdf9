/**
 * Notes when keys were last used, as metering tells it. A note that is lost is made good by the key's next use.
 */

import type { Bus } from '@gateway/bus/port'
import type { Logger } from '@gateway/telemetry/logger'
import { talkAs } from '@gateway/service/talk-as'
import { noteUse } from './db/keys.ts'
import type { KeysDatabase } from './db/tables.ts'

export function listenForUse(parts: { bus: Bus; database: KeysDatabase; logger: Logger }): Promise<AsyncDisposable> {
  const { bus, database, logger } = parts
  return talkAs('keys', bus).hear('keysUsed', ({ uses }) => {
    noteUse(database, uses).catch((error: unknown) => logger.warn({ err: error }, 'the use of keys could not be noted'))
  })
}
