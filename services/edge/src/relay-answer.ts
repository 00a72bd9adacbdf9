/**
 * Relays one admitted request's answer: dispatch, relay, settle, and only then the last byte.
 *
 * What is billed is what the client saw. A client that leaves is billed by the router, which alone knows what the
 * backend had generated; its reservation is released by the ledger, or lapses.
 */

import { GatewayError } from '@gateway/contracts/errors'
import type { AnswerEnd, AnswerFailure, AnswerHead } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import { chargeFor } from '@gateway/pricing/charge'
import { usageAttributes } from '@gateway/service/gen-ai'
import { requestFields } from '@gateway/service/trace-context'
import type { Attributes } from '@gateway/service/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { Admitted } from './admit.ts'
import type { AnswerWriter, Client } from './answer-writer.ts'
import { invalidKey } from './authenticate.ts'
import { countEvents } from './core/count-events.ts'
import { failureToError } from './core/failure-to-error.ts'
import { standingHeaders } from './core/standing-headers.ts'
import { wholeEvents } from './core/whole-events.ts'
import type { Edge } from './edge.ts'
import type { Measured } from './measure-request.ts'
import { runJob, type JobRun } from './run-job.ts'
import { release, settle, usageEvent, type PlannedJob } from './settle.ts'

export interface Relay {
  admitted: Admitted
  /** Headers about the model that was asked for, whatever becomes of the answer. */
  notices: Record<string, string>
  job: PlannedJob
  body: Uint8Array
  keyHash: string
  deadlineMs: number
  endpoint: string
  measured: Measured
}

/** Resolves when the answer has ended; rejects with what to answer while nothing has been sent yet. */
export function relayAnswer(edge: Edge, relay: Relay, client: Client): Promise<void> {
  const { admitted, job, measured } = relay
  // Its client left while it was being admitted.
  if (client.hasLeft()) return release(edge, job)
  return new Promise((resolve, reject) => {
    let head: AnswerHead | null = null
    let eventsSeen = 0
    let isOver = false
    const events = job.stream ? wholeEvents() : null
    /** Bytes that were told as consumed while they waited for the end of their event, which else might never come. */
    let toldAhead = 0

    const consumed = (bytes: number) => {
      const untold = Math.max(0, bytes - toldAhead)
      toldAhead -= bytes - untold
      run.consumed(untold)
    }
    const writer: AnswerWriter = client.open(job.stream, consumed, () => answerHeaders(relay, null))
    client.onLeave(() => {
      if (abandon()) resolve()
    })
    const enteredAtMs = performance.now() - admitted.waitedMs
    edge.intake.enter()
    const run: JobRun = runJob(edge.bus, job, relay.body, relay.deadlineMs, {
      onHead(answerHead) {
        head = answerHead
        if (measured.span.isRecorded) measured.span.set(headAttributes(answerHead, admitted))
        if (job.stream) begun(answerHead)
        writer.begin(answerHead.contentType, () => answerHeaders(relay, answerHead))
        failpoint('edge.answer-begun')
      },
      onData(bytes) {
        if (!events) return writer.write(bytes)
        const whole = events.push(bytes)
        const held = bytes.length - whole.length
        if (held > 0) {
          toldAhead += held
          run.consumed(held)
        }
        if (whole.length === 0) return
        eventsSeen += countEvents(whole)
        writer.write(whole)
      },
      onEnd: (end) => void completed(end),
      onFailure: failed,
      onOffered(isAnswered) {
        edge.intake.leave()
        // A client that leaves early has not waited for us.
        if (isAnswered) edge.intake.arrived(enteredAtMs)
      },
      onInterrupted: interrupted,
    })
    failpoint('edge.dispatched')
    edge.running.begin({
      account: job.account,
      requestId: job.requestId,
      keyHash: relay.keyHash,
      reservation: { worstCharge: admitted.worstCharge, window: job.window },
      stream: job.stream,
      cut() {
        if (abandon()) endWith(invalidKey())
      },
    })

    async function completed(end: AnswerEnd): Promise<void> {
      isOver = true
      if (!head) return endWith(new GatewayError('INTERNAL_ERROR', 'The answer had no beginning'))
      if (measured.span.isRecorded) measured.span.set(usageAttributes(end.usage))
      const event = usageEvent(job, head, { outcome: 'completed', delivered: true, ...end })
      try {
        if (writer.keep) await writer.keep(event)
        await settle(edge, event)
      } catch (cause) {
        return endWith(
          new GatewayError('SERVICE_UNAVAILABLE', 'The answer could not be metered in time', {}, { cause }),
        )
      }
      failpoint('edge.usage-stored')
      const unfinished = events?.end()
      if (unfinished?.length) writer.write(unfinished)
      if (!job.stream) begun(head)
      const answered = head
      writer.finish(() => answerHeaders(relay, answered, chargeFor(job.price, end.usage)))
      failpoint('edge.answer-ended')
      resolve()
    }

    /** A stream begins with its first content; a JSON answer is sent when it is whole and metered. */
    function begun({ backendMs }: AnswerHead): void {
      const tookMs = performance.now() - measured.startedAtMs
      if (backendMs !== undefined) edge.metrics.added(relay.endpoint, tookMs - backendMs)
      if (!job.stream) return
      edge.metrics.firstToken(job.lane, tookMs)
      measured.span.event('first content')
    }

    function failed({ usage = NOTHING, attempts, ...failure }: AnswerFailure): void {
      isOver = true
      if (failure.retryAfterMs !== undefined) {
        edge.metrics.shed('routers_busy')
        edge.intake.refusedBehind()
      }
      endWith(failureToError({ ...failure, attempts }, job.lane))
      const settled = head
        ? settle(edge, usageEvent(job, head, { outcome: 'backend_failed', delivered: false, usage, attempts }))
        : release(edge, job)
      settled.catch(logUnsettled)
    }

    function interrupted(): void {
      isOver = true
      endWith(new GatewayError('UPSTREAMS_EXHAUSTED', 'The answer was interrupted; try again', { tier: job.lane }))
      if (!head) return
      // Without the router's count: the usual backend sends one token an event.
      const usage = {
        ...NOTHING,
        promptTokens: job.promptTokensEstimate,
        completionTokens: eventsSeen,
        estimated: true,
      }
      const event = usageEvent(job, head, { outcome: 'router_lost', delivered: false, usage, attempts: [] })
      settle(edge, event).catch(logUnsettled)
    }

    /** The client left, or its key was revoked: the router stops the backend and reports what it had generated. */
    function abandon(): boolean {
      if (isOver) return false
      isOver = true
      run.stop()
      edge.running.end(job.requestId)
      if (!head) void release(edge, job)
      return true
    }

    function endWith(error: GatewayError): void {
      if (!writer.begun()) return reject(error)
      measured.failure = error.code
      writer.fail(error)
      resolve()
    }

    function logUnsettled(error: unknown): void {
      edge.logger.error(
        { err: error, ...requestFields(job.requestId, job.traceparent) },
        'usage is not known to be stored; it is still being tried',
      )
    }
  })
}

function headAttributes(head: AnswerHead, { lane }: Admitted): Attributes {
  return {
    'gen_ai.response.model': head.backendModel,
    'gateway.lane': lane.id,
    'gateway.pool': head.upstream,
    'gateway.backend': head.backend,
  }
}

const NOTHING: TokenUsage = {
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  estimated: false,
}

/** `spent`: what this request has cost, once that is known. */
function answerHeaders({ admitted, notices }: Relay, head: AnswerHead | null, spent = 0): Record<string, string> {
  const headers = { ...standingHeaders(admitted.standing, admitted.plan.unit, spent), ...notices }
  if (head) headers['x-svc-upstream'] = head.upstream
  if (admitted.reason) headers['x-svc-smart-route'] = `${admitted.lane.id}; reason=${admitted.reason}`
  return headers
}
