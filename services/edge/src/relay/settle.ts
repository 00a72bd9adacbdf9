/**
 * Settles an ended request: its usage becomes durable, and its reservation becomes its real cost.
 *
 * The reports of one turn share one durable message, and so do those that come while the last message is on its way. Clients wait
 * for a limited time. The bus goes on trying, and a router keeps its last word until the report is stored, so a charge is late but
 * never lost.
 */

import { NotStoredError, type Bus } from '@gateway/bus/port'
import { atTurnsEnd } from '@gateway/bus/event-loop'
import type { PlannedJob } from '@gateway/contracts/job'
import { bill, type UsageEvent } from '@gateway/contracts/usage-event'
import { failpoint } from '@gateway/service/failpoint'
import { rpcClient } from '@gateway/rpc/client'
import { chargeFor } from '@gateway/pricing/charge'
import type { Logger } from '@gateway/telemetry/logger'
import { NO_SPAN, requestFields, type Span, type Tracer } from '@gateway/telemetry/tracing'
import type { Charge } from '../core/last-word.ts'
import type { EdgeAdmission } from '@gateway/admission/port'
import type { RunningRequests } from '../admission/running-requests.ts'
import type { EdgeMetrics } from '../metrics.ts'

export interface Reported {
  /** Resolves when JetStream has stored the usage. Rejects after 30 s without a confirmation. */
  inTime: Promise<void>
  /** Resolves when JetStream has stored the usage, however late. Stays pending where another process reports it. */
  stored: Promise<void>
}

export interface UsageReporter {
  report(event: UsageEvent): Reported
}

export interface SettleContext {
  admission: EdgeAdmission
  running: RunningRequests
  usage: UsageReporter
  logger: Logger
  metrics: EdgeMetrics
  tracer: Tracer
}

/** The charge stays pending until the usage is stored. */
export function settle(edge: SettleContext, event: UsageEvent): Reported {
  edge.metrics.tokens(event.lane, event.usage)
  const charge = chargeFor(event.price, event.usage)
  const tokens = event.usage.promptTokens + event.usage.completionTokens
  const span = edge.tracer.isOn
    ? edge.tracer.start('report usage', { kind: 'producer', parent: event.traceparent })
    : NO_SPAN
  const traced = span.isRecorded ? { ...event, traceparent: span.traceparent } : event
  const { inTime, stored } = edge.usage.report(traced)
  const finished = finishReservation(edge, event, charge, tokens)
  return { inTime: within(span, Promise.all([inTime, finished])), stored }
}

/** Where nobody waits for more: a report that takes longer is logged and goes on. */
export async function settleInTime(edge: SettleContext, event: UsageEvent): Promise<Reported> {
  const reported = settle(edge, event)
  try {
    await reported.inTime
  } catch (err) {
    const fields = requestFields(event.requestId, event.traceparent)
    edge.logger.error({ err, ...fields }, 'JetStream did not confirm the usage in time; the edge keeps trying')
  }
  return reported
}

async function within(span: Span, settled: Promise<unknown>): Promise<void> {
  try {
    await settled
  } catch (error) {
    span.fail('not_stored')
    throw error
  } finally {
    span.end()
  }
}

/** Nothing was produced for this request: its reservation is free again. */
export function release(edge: SettleContext, job: PlannedJob): Promise<void> {
  return finishReservation(edge, job, 0, 0)
}

/** Only a lost router knows the cost. The reservation stays until that router's report reaches the ledger, or lapses. */
export function lapse(edge: SettleContext, job: PlannedJob): void {
  edge.running.end(job.requestId)
}

/** A store that is away does not hold up the response: the ledger's total corrects it when it is back. */
async function finishReservation(
  edge: SettleContext,
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

/** The request's record for the ledger. */
export function usageEvent(job: PlannedJob, { served, ...charge }: Charge): UsageEvent {
  const { backend, backendModel } = served
  const streamed = job.stream
  return { ...bill.parse(job), reporter: 'edge', backend, backendModel, streamed, endedAtMs: Date.now(), ...charge }
}

const STORED_WITHIN_MS = 30_000
/** Of Node's timers. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1
/** No report waits longer for the message before its own. */
const GATHER_MS = 2
/** Keeps a batch far below the broker's `max_payload`: an event takes about 1 KB, and four of its attempts as much. */
const MAX_BATCH_KB = 200

interface Batch {
  events: UsageEvent[]
  kilobytes: number
  reported: Reported
}

/** `onStored`: of an account's request. */
export function createUsageReporter(bus: Bus, onStored: (account: string) => void): UsageReporter {
  const edge = rpcClient('edge', bus)
  let open: Batch | null = null
  /** The last message. */
  let onItsWay: Promise<void> | null = null

  function openBatch(): Batch {
    const events: UsageEvent[] = []
    const published = new Promise<void>((resolve, reject) => {
      const send = () => {
        if (open?.events === events) open = null
        const sent = edge.report('usage', { v: 1, events }, { timeoutMs: LONGEST_TIMEOUT_MS })
        onItsWay = sent
        const arrived = () => {
          if (onItsWay === sent) onItsWay = null
        }
        sent.then(arrived, arrived)
        sent.then(resolve, reject)
        failpoint('edge.usage-published')
      }
      if (onItsWay === null) atTurnsEnd(send)
      else onceOver(onItsWay, GATHER_MS, send)
    })
    published.then(() => events.forEach(({ account }) => onStored(account))).catch(() => {})
    return { events, kilobytes: 0, reported: { inTime: inTime(published), stored: whenStored(published) } }
  }

  return {
    report(event) {
      if (open === null || open.kilobytes >= MAX_BATCH_KB) open = openBatch()
      open.kilobytes += 1 + event.attempts.length / 4
      open.events.push(event)
      return open.reported
    },
  }
}

/** Does the work when the promise is settled, or at its latest so much later. */
function onceOver(promise: Promise<void>, withinMs: number, work: () => void): void {
  let isDone = false
  const once = () => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    work()
  }
  const timer = setTimeout(once, withinMs)
  promise.then(once, once)
}

function inTime(published: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new NotStoredError(`usage not stored within ${STORED_WITHIN_MS} ms`)),
    STORED_WITHIN_MS,
  )
  const settled = Promise.race([published, late]).finally(() => clearTimeout(timer))
  // A batch holds the reports of many requests, and it may be that none of them waits any longer.
  settled.catch(() => {})
  return settled
}

function whenStored(published: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    published.then(resolve, () => {})
  })
}
