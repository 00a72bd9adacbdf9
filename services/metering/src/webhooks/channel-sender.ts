/**
 * Sends the waiting deliveries of one channel: a webhook, or e-mail. All processes share the work. Deliveries of a line leave one
 * after the other, and lines do not wait for each other.
 *
 * A process that is killed leaves its claims behind. They lapse after an attempt's time limit, and another attempt follows: a
 * receiver may see an event twice, under the same id.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '@gateway/service/failpoint'
import { repeat } from '@gateway/service/repeat'
import type { Logger } from '@gateway/telemetry/logger'
import { afterAttempt, type AttemptOutcome, type NextState } from '../core/delivery-attempts.ts'
import {
  type Channel,
  claimDeliveries,
  type ClaimedDelivery,
  disableChannel,
  recordAttempt,
  releaseDelivery,
} from '../db/deliveries.ts'
import type { MeteringDatabase } from '../db/tables.ts'
import { ATTEMPT_TIMEOUT_MS } from './post-webhook.ts'

export interface SenderContext {
  database: MeteringDatabase
  logger: Logger
  /** Counts attempts. */
  count(channel: string, outcome: NextState['state']): void
}

/** May reject once `stopping` has aborted: the delivery is released then. */
export type Attempt = (delivery: ClaimedDelivery, stopping: AbortSignal) => Promise<AttemptOutcome>

const AT_ONCE = 8
const IDLE_PAUSE_MS = 1_000
const AWAY_PAUSE_MS = 5_000
/** Longer than an attempt, and the time to record it. */
const HELD_FOR_MS = 2 * ATTEMPT_TIMEOUT_MS

export function startChannelSender(
  context: SenderContext,
  channel: Channel,
  attempt: Attempt,
  heldForMs = HELD_FOR_MS,
): AsyncDisposable {
  const { database, logger } = context
  const aborting = new AbortController()
  const running = new Set<Promise<void>>()

  const sending = repeat(async (stopping) => {
    try {
      const claimed = await claimDeliveries(database, channel, AT_ONCE - running.size, heldForMs)
      for (const delivery of claimed) {
        const sent = send(delivery).finally(() => running.delete(sent))
        running.add(sent)
      }
      if (running.size === 0) return IDLE_PAUSE_MS
    } catch (error) {
      logger.warn({ err: error }, 'deliveries could not be read; they will be')
      return AWAY_PAUSE_MS
    }
    // The next of a line can leave as soon as this one has.
    const pause = running.size < AT_ONCE ? [sleep(IDLE_PAUSE_MS, undefined, { signal: stopping }).catch(() => {})] : []
    await Promise.race([...running, ...pause])
    return 0
  })

  async function send(delivery: ClaimedDelivery): Promise<void> {
    const beganAtMs = performance.now()
    try {
      failpoint('metering.delivery-claimed')
      const outcome = await attempt(delivery, aborting.signal)
      failpoint('metering.delivery-sent')
      const ageMs = delivery.ageMs + performance.now() - beganAtMs
      await record(delivery, afterAttempt(outcome, { attempts: delivery.attempts, ageMs, chance: Math.random() }))
    } catch (error) {
      if (aborting.signal.aborted) return await release(delivery)
      // It is due again when its claim lapses.
      logger.warn({ err: error, channel: channel.name, event: delivery.eventId }, 'a delivery could not be recorded')
    }
  }

  async function record(delivery: ClaimedDelivery, next: NextState): Promise<void> {
    const about = { channel: channel.name, event: delivery.eventId, attempts: delivery.attempts }
    if (next.state === 'disabled') await disableChannel(database, channel, delivery)
    else await recordAttempt(database, delivery, next)
    context.count(channel.name, next.state)
    if (next.state === 'disabled') {
      logger.error(about, 'the receiver of a webhook is gone (410): it gets nothing more until it is enabled')
    } else if (next.state === 'dead') {
      logger.error({ ...about, fault: next.fault }, 'a delivery has become a dead letter')
    } else if (next.state === 'waiting') {
      logger.warn({ ...about, fault: next.fault, delayMs: next.delayMs }, 'a delivery has failed; it is tried again')
    }
  }

  async function release(delivery: ClaimedDelivery): Promise<void> {
    await releaseDelivery(database, delivery).catch((error: unknown) =>
      logger.warn({ err: error }, 'a delivery could not be released; its claim lapses'),
    )
  }

  return {
    async [Symbol.asyncDispose]() {
      const stopped = sending[Symbol.asyncDispose]()
      aborting.abort()
      await stopped
      await Promise.all(running)
    },
  }
}
