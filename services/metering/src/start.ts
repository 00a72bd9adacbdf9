/**
 * Starts metering on what it is given: the same in one process on embedded parts and in a cluster.
 */

import type { MeteringAdmission } from '@gateway/admission/metering'
import type { Bus } from '@gateway/bus/port'
import { subjects, usageConsumers, usageStream } from '@gateway/contracts/subjects'
import type { Database } from '@gateway/postgres/database'
import { migrate } from '@gateway/postgres/migrate'
import type { Logger } from '@gateway/service/logger'
import type { RunningService } from '@gateway/service/start-service'
import { answerRequests } from './answer-requests.ts'
import { consumeUsage } from './consumers/usage.ts'
import { createPartitions } from './db/partitions.ts'
import { quota } from './handlers/quota.ts'
import { warm } from './handlers/warm.ts'
import { keepPartitionsAhead } from './keep-partitions-ahead.ts'
import { startSettlement } from './settlement.ts'
import { createKeyUse } from './tell-key-use.ts'

export interface MeteringParts {
  bus: Bus
  admission: MeteringAdmission
  database: Database
  logger: Logger
}

const MESSAGES_AT_A_TIME = 256

/** Stopping takes nothing new and finishes the batch in hand. */
export async function startMetering({ bus, admission, database, logger }: MeteringParts): Promise<RunningService> {
  await migrate(database, { schema: 'metering', directory: `${import.meta.dirname}/db/migrations` })
  await using starting = new AsyncDisposableStack()
  const partitions = createPartitions(database)
  await partitions.ensureAhead()
  starting.use(keepPartitionsAhead(partitions, logger))
  const keyUse = createKeyUse(bus)
  const settlement = starting.use(startSettlement({ database, admission, logger }))

  starting.use(
    await bus.consumeDurable({
      stream: usageStream.name,
      subject: subjects.usage,
      consumer: usageConsumers.metering,
      maxBatch: MESSAGES_AT_A_TIME,
      handler: (batch) => consumeUsage({ database, partitions, settlement, keyUse, logger }, batch),
    }),
  )
  starting.use(
    await answerRequests(bus, logger, {
      [subjects.meteringQuota]: (question) => quota({ database, admission, now: Date.now }, question),
      [subjects.meteringWarm]: (question) => warm({ database, admission }, question),
    }),
  )
  const running = starting.move()
  return { ready: () => true, [Symbol.asyncDispose]: () => running.disposeAsync() }
}
