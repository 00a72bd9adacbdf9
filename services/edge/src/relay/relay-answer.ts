/**
 * Relays one admitted request's answer: dispatch, relay, settle, and only then the last byte.
 *
 * A client pays for the content that it saw. A client that has left pays for all that its backend generated until the
 * router stopped it. The router's last word tells the usage, and the edge settles by it (`core/bill.ts`), whether the
 * client still waits or not. A router reports only for an edge that is lost.
 */

import { GatewayError } from '@gateway/contracts/errors'
import type { AnswerHead, PlannedJob } from '@gateway/contracts/job'
import { chargeFor } from '@gateway/pricing/charge'
import { usageAttributes } from '@gateway/telemetry/gen-ai'
import { requestFields } from '@gateway/telemetry/trace-context'
import type { Attributes } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { Admitted } from '../admit/admit.ts'
import type { AnswerWriter, Client } from './answer-writer.ts'
import { invalidKey } from '../credentials/authenticate.ts'
import { billOf, type Bill, type Charge, type Departure, type LastWord } from '../core/bill.ts'
import { failureToError } from '../core/failure-to-error.ts'
import { smartRouteHeader } from '../core/smart-route-header.ts'
import { standingHeaders } from '../core/standing-headers.ts'
import type { Edge } from '../edge.ts'
import type { Measured } from '../listen/measure-request.ts'
import { openPassage } from './pass-answer.ts'
import { runJob, type JobRun, type RouterLoss } from './run-job.ts'
import { lapse, release, settle, usageEvent } from '../report/settle.ts'

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

/** The client waits for the answer, or has gone in some way, or the router has said its last word. */
type Phase = 'wanted' | Departure | 'over'

/** Resolves when the answer has ended; rejects with what to answer while nothing has been sent yet. */
export function relayAnswer(edge: Edge, relay: Relay, client: Client): Promise<void> {
  const { admitted, job, measured } = relay
  // Its client left while it was being admitted.
  if (client.hasLeft()) return release(edge, job)
  return new Promise((resolve, reject) => {
    let phase: Phase = 'wanted'
    let head: AnswerHead | null = null

    const writer: AnswerWriter = client.open(
      job.stream,
      (bytes) => passage.taken(bytes),
      () => answerHeaders(relay, null),
    )
    const open = () => openPassage(job.stream, writer, (bytes) => run.consumed(bytes))
    let passage = open()
    client.onLeave(() => {
      if (depart('client_gone')) resolve()
    })
    const enteredAtMs = performance.now() - admitted.waitedMs
    edge.intake.enter()
    const run: JobRun = runJob(edge.bus, job, relay.body, relay.deadlineMs, {
      onHead(answerHead) {
        head = answerHead
        if (phase !== 'wanted') return
        if (measured.span.isRecorded) measured.span.set(headAttributes(answerHead, admitted))
        if (job.stream) begun(answerHead)
        writer.begin(answerHead.contentType, () => answerHeaders(relay, answerHead))
        failpoint('edge.answer-begun')
      },
      onData: (bytes) => (phase === 'wanted' ? passage.pass(bytes) : passage.note(bytes)),
      onEnd: (end) => conclude({ kind: 'end', end }),
      onFailure: (failure) => conclude({ kind: 'failure', failure }),
      onInterrupted: () => void conclude({ kind: 'lost' }),
      onRouterLost(loss) {
        tellLoss(edge, job, loss)
        if (!writer.restart()) return false
        head = null
        passage = open()
        return true
      },
      onOverdue() {
        if (depart('router_lost')) endWith(new GatewayError('SERVICE_UNAVAILABLE', 'The time for this request is up'))
      },
      onOffered(isAnswered) {
        edge.intake.leave()
        // A client that leaves early has not waited for us.
        if (isAnswered) edge.intake.arrived(enteredAtMs)
      },
    })
    failpoint('edge.dispatched')
    edge.running.begin({
      account: job.account,
      requestId: job.requestId,
      keyHash: relay.keyHash,
      reservation: { worstCharge: admitted.worstCharge, window: job.window },
      stream: job.stream,
      cut() {
        if (depart('cut')) endWith(invalidKey())
      },
    })

    /** The client has gone: the router stops the backend, and its last word tells the cost. */
    function depart(how: Departure): boolean {
      if (phase !== 'wanted') return false
      phase = how
      run.stop()
      return true
    }

    async function conclude(word: LastWord): Promise<void> {
      const departure = phase === 'wanted' || phase === 'over' ? null : phase
      phase = 'over'
      const { promptTokensEstimate } = job
      const bill = billOf(word, { departure, head, events: passage.events, promptTokensEstimate })
      if (word.kind === 'end' && departure === null && head && bill.kind === 'charge') return deliver(head, bill.charge)
      noteBusyRouters(edge, word)
      if (departure === null) endWith(errorOf(word, job.lane))
      await settleBill(edge, job, bill)
    }

    async function deliver(answered: AnswerHead, charge: Charge): Promise<void> {
      const { usage } = charge
      if (measured.span.isRecorded) measured.span.set(usageAttributes(usage))
      const event = usageEvent(job, charge)
      try {
        if (writer.keep) await writer.keep(event)
        await settle(edge, event)
      } catch (cause) {
        return endWith(
          new GatewayError('SERVICE_UNAVAILABLE', 'The answer could not be metered in time', {}, { cause }),
        )
      }
      failpoint('edge.usage-stored')
      passage.end()
      if (!job.stream) begun(answered)
      writer.finish(() => answerHeaders(relay, answered, chargeFor(job.price, usage)))
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

    function endWith(error: GatewayError): void {
      if (!writer.begun()) return reject(error)
      measured.failure = error.code
      writer.fail(error)
      resolve()
    }
  })
}

/** Routers that are late gave the job back: the edge takes in less. */
function noteBusyRouters(edge: Edge, word: LastWord): void {
  if (word.kind !== 'failure' || word.failure.retryAfterMs === undefined) return
  edge.metrics.shed('routers_busy')
  edge.intake.refusedBehind()
}

function errorOf(word: LastWord, tier: string): GatewayError {
  switch (word.kind) {
    case 'end':
      return new GatewayError('INTERNAL_ERROR', 'The answer had no beginning')
    case 'failure':
      return failureToError(word.failure, tier)
    case 'lost':
      return new GatewayError('UPSTREAMS_EXHAUSTED', 'The answer was interrupted; try again', { tier })
  }
}

async function settleBill(edge: Edge, job: PlannedJob, bill: Bill): Promise<void> {
  switch (bill.kind) {
    case 'unknown':
      return lapse(edge, job)
    case 'nothing':
      return release(edge, job)
    case 'charge':
      try {
        return await settle(edge, usageEvent(job, bill.charge))
      } catch (err) {
        const fields = requestFields(job.requestId, job.traceparent)
        edge.logger.error({ err, ...fields }, 'JetStream did not confirm the usage in time; the edge keeps trying')
      }
  }
}

/** A request that loses router after router likely kills them. */
function tellLoss(edge: Edge, job: PlannedJob, { router, losses, isLast }: RouterLoss): void {
  edge.metrics.routerLost(isLast)
  const fields = { ...requestFields(job.requestId, job.traceparent), keyId: job.keyId, router, losses }
  if (isLast) edge.logger.error(fields, 'a request has lost every router that took it, and is given up')
  else edge.logger.warn(fields, 'a request has lost its router')
}

function headAttributes(head: AnswerHead, { lane }: Admitted): Attributes {
  return {
    'gen_ai.response.model': head.backendModel,
    'gateway.lane': lane.id,
    'gateway.pool': head.upstream,
    'gateway.backend': head.backend,
  }
}

/** `spent`: what this request has cost, once that is known. */
function answerHeaders({ admitted, notices, job }: Relay, head: AnswerHead | null, spent = 0): Record<string, string> {
  const headers: Record<string, string> = {
    ...standingHeaders(admitted.standing, admitted.plan.unit, spent),
    ...notices,
  }
  // The pool is known before its answer: headers that keep-alive commits early name it, too.
  headers['x-svc-upstream'] = head?.upstream ?? job.pool
  if (head?.droppedParams) headers['x-svc-dropped-params'] = head.droppedParams.join(', ')
  const { lane, reason, confidence } = admitted
  if (reason) headers['x-svc-smart-route'] = smartRouteHeader({ laneId: lane.id, reason, confidence })
  return headers
}
