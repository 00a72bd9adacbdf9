/**
 * Settles an ended request: its usage becomes durable and its reservation becomes what it really cost.
 *
 * The reports of one tick share one durable message. The bus goes on trying with one that is not stored in time, so a charge
 * is late but never lost.
 */

import type { Bus } from '@gateway/bus/port'
import { atTurnsEnd } from '@gateway/bus/turn'
import type { PlannedJob } from '@gateway/contracts/job'
import { bill, type UsageEvent } from '@gateway/contracts/usage-event'
import { failpoint } from '@gateway/service/failpoint'
import { talkAs } from '@gateway/service/talk-as'
import { chargeFor } from '@gateway/pricing/charge'
import { NO_SPAN, requestFields } from '@gateway/telemetry/tracing'
import type { Charge } from '../core/last-word.ts'
import type { Edge } from '../edge.ts'

/** Resolves when the usage is stored. Rejects when that is not known in time; the charge stays pending meanwhile. */
export async function settle(edge: Edge, event: UsageEvent): Promise<void> {
  edge.metrics.tokens(event.lane, event.usage)
  const charge = chargeFor(event.price, event.usage)
  const tokens = event.usage.promptTokens + event.usage.completionTokens
  const span = edge.tracer.isOn
    ? edge.tracer.start('report usage', { kind: 'producer', parent: event.traceparent })
    : NO_SPAN
  const reported = span.isRecorded ? { ...event, traceparent: span.traceparent } : event
  try {
    await Promise.all([edge.usage.report(reported), finishReservation(edge, event, charge, tokens)])
  } catch (error) {
    span.fail('not_stored')
    throw error
  } finally {
    span.end()
  }
}

/** Nothing was produced for this request: what it held is free again. */
export function release(edge: Edge, job: PlannedJob): Promise<void> {
  return finishReservation(edge, job, 0, 0)
}

/** Only a lost router knows the cost. The reservation stays until that router's report reaches the ledger, or lapses. */
export function lapse(edge: Edge, job: PlannedJob): void {
  edge.running.end(job.requestId)
}

/** A store that is away does not hold up the answer: the ledger's total corrects it when it is back. */
async function finishReservation(
  edge: Edge,
  { account, requestId, traceparent }: Pick<PlannedJob, 'account' | 'requestId' | 'traceparent'>,
  charge: number,
  tokens: number,
): Promise<void> {
  edge.running.end(requestId)
  try {
    await edge.admission.finish({ account, requestId, charge, tokens })
  } catch (error) {
    const fields = requestFields(requestId, traceparent)
    edge.logger.warn({ err: error, ...fields }, 'Redis did not correct the reservation; the ledger will correct it')
  }
}

/** What the ledger is told of the request. */
export function usageEvent(job: PlannedJob, { served, ...charge }: Charge): UsageEvent {
  const { backend, backendModel } = served
  const streamed = job.stream
  return { ...bill.parse(job), reporter: 'edge', backend, backendModel, streamed, endedAtMs: Date.now(), ...charge }
}

const STORE_TIMEOUT_MS = 30_000
/** Keeps a batch far below the broker's `max_payload`: an event takes about 1 KB, and four of its attempts as much. */
const MAX_BATCH_KB = 200

interface Batch {
  events: UsageEvent[]
  kilobytes: number
  stored: Promise<void>
}

export function createUsageReporter(bus: Bus): Edge['usage'] {
  const edge = talkAs('edge', bus)
  let open: Batch | null = null

  function openBatch(): Batch {
    const events: UsageEvent[] = []
    const stored = new Promise<void>((resolve, reject) => {
      atTurnsEnd(() => {
        if (open?.events === events) open = null
        edge.report('usage', { v: 1, events }, { timeoutMs: STORE_TIMEOUT_MS }).then(resolve, reject)
        failpoint('edge.usage-published')
      })
    })
    return { events, kilobytes: 0, stored }
  }

  return {
    report(event) {
      if (open === null || open.kilobytes >= MAX_BATCH_KB) open = openBatch()
      open.kilobytes += 1 + event.attempts.length / 4
      open.events.push(event)
      return open.stored
    },
  }
}
