/**
 * Starts keys on what it is given: the same in one process on embedded parts and in a cluster.
 */

import type { KeysAdmission } from '@gateway/admission/keys'
import type { Bus } from '@gateway/bus/port'
import { subjects } from '@gateway/contracts/subjects'
import type { Database } from '@gateway/postgres/database'
import { migrate } from '@gateway/postgres/migrate'
import type { ConfigSource } from '@gateway/service/config-source'
import type { Logger } from '@gateway/service/logger'
import type { RunningService } from '@gateway/service/start-service'
import { answerRequests } from './answer-requests.ts'
import type { KeysContext } from './keys-context.ts'
import { deriveMasterKeys } from './core/master-keys.ts'
import { readPepper } from './db/pepper.ts'
import { fill } from './handlers/fill.ts'
import { mintGuest } from './handlers/mint-guest.ts'

export interface KeysParts {
  bus: Bus
  admission: KeysAdmission
  database: Database
  config: ConfigSource
  masterSecret: string
  logger: Logger
}

/** Refuses to start with a master secret that does not open what the database holds. */
export async function startKeys({ masterSecret, ...parts }: KeysParts): Promise<RunningService> {
  const masterKeys = deriveMasterKeys(masterSecret)
  await migrate(parts.database, { schema: 'keys', directory: `${import.meta.dirname}/db/migrations` })
  const context: KeysContext = { ...parts, masterKeys, pepper: await readPepper(parts.database, masterKeys) }
  const serving = await answerRequests(parts.bus, parts.logger, {
    [subjects.keysFill]: (question) => fill(context, question),
    [subjects.keysMintGuest]: (question) => mintGuest(context, question),
  })
  return { ready: () => true, [Symbol.asyncDispose]: () => serving[Symbol.asyncDispose]() }
}
