/**
 * Publishes the events of keys and of spend alerts durably to operators. A row is marked when the stream holds its event; a crash in
 * between publishes it again under the same id.
 *
 * It also notes the keys that expire soon.
 */

import { accountKeyEvent, spendAlertEvent } from '@gateway/contracts/account-events'
import { rpcClient } from '@gateway/rpc/client'
import { failpoint } from '@gateway/service/failpoint'
import { repeat } from '@gateway/service/repeat'
import type { KeysContext } from './keys-context.ts'
import { lockWaitingEvents, noteExpiringKeys, notePublished, type WaitingEvent } from './db/events.ts'

type PublishingContext = Pick<KeysContext, 'bus' | 'database' | 'dueWork' | 'logger'>

const AWAY_PAUSE_MS = 5_000
const STORED_WITHIN_MS = 5_000
const AT_ONCE = 50
const LOOK_AT_EXPIRIES_EVERY_MS = 60_000

export function publishEvents(context: PublishingContext, { expiriesEveryMs = LOOK_AT_EXPIRIES_EVERY_MS } = {}) {
  const running = new AsyncDisposableStack()
  running.use(
    inRounds(context, async () => {
      await noteExpiringKeys(context.database)
      return expiriesEveryMs
    }),
  )
  running.use(
    inRounds(context, async (stopping) => {
      if ((await publishSome(context)) === 0) await context.dueWork.found('events', stopping)
      return 0
    }),
  )
  return running
}

function inRounds({ logger }: PublishingContext, round: (stopping: AbortSignal) => Promise<number>): AsyncDisposable {
  return repeat((stopping) =>
    round(stopping).catch((error: unknown) => {
      logger.warn({ err: error }, 'events could not be published; they will be')
      return AWAY_PAUSE_MS
    }),
  )
}

/** Returns the number of events. */
function publishSome({ bus, database }: PublishingContext): Promise<number> {
  return database.transaction().execute(async (transaction) => {
    const events = await lockWaitingEvents(transaction, AT_ONCE)
    if (events.length === 0) return 0
    const keys = rpcClient('keys', bus)
    const publishOne = (event: WaitingEvent): Promise<void> => {
      const { name, message } = read(event)
      return keys.report(name, message, { timeoutMs: STORED_WITHIN_MS })
    }
    await Promise.all(Array.from(byAccount(events), (line) => publishInTurn(line, publishOne)))
    failpoint('keys.events-stored')
    await notePublished(transaction, events)
    return events.length
  })
}

function byAccount(events: readonly WaitingEvent[]): Iterable<WaitingEvent[]> {
  return Map.groupBy(events, ({ payload }) => (payload as { account?: string | null }).account).values()
}

/** Each once the stream holds the one before, so that readers see an account's events in their order. */
async function publishInTurn(
  events: readonly WaitingEvent[],
  publishOne: (event: WaitingEvent) => Promise<void>,
): Promise<void> {
  for (const event of events) await publishOne(event)
}

function read({ id, kind, payload }: WaitingEvent) {
  const event = { v: 1, id, ...(payload as object) }
  return kind === 'key'
    ? { name: 'accountKey' as const, message: accountKeyEvent.parse(event) }
    : { name: 'accountSpendAlert' as const, message: spendAlertEvent.parse(event) }
}
