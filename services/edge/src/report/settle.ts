/**
 * Settles an ended request: its usage becomes durable and its reservation becomes what it really cost.
 */

import type { PlannedJob } from '@gateway/contracts/job'
import { bill, type UsageEvent } from '@gateway/contracts/usage-event'
import { chargeFor } from '@gateway/pricing/charge'
import { requestFields } from '@gateway/telemetry/trace-context'
import { NO_SPAN } from '@gateway/telemetry/tracing'
import type { Charge } from '../core/bill.ts'
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
