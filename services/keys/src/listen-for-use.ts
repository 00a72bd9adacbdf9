/**
 * Notes when keys were last used, as metering tells it. A note that is lost is made good by the key's next use.
 */

import type { Bus } from '@gateway/bus/port'
import type { Database } from '@gateway/postgres/database'
import type { Logger } from '@gateway/telemetry/logger'
import { talkAs } from '@gateway/service/talk-as'
import { noteUse } from './db/keys.ts'

export function listenForUse(parts: { bus: Bus; database: Database; logger: Logger }): Promise<AsyncDisposable> {
  const { bus, database, logger } = parts
  return talkAs('keys', bus).hear('keysUsed', ({ uses }) => {
    noteUse(database, uses).catch((error: unknown) => logger.warn({ err: error }, 'the use of keys could not be noted'))
  })
}
