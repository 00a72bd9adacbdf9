/**
 * Relays one admitted request's response: dispatch, relay, settle, and only then the last byte.
 *
 * A client pays for the content that it saw. A client that has left pays for all that its backend generated until the router
 * stopped it. The router's last word states the usage, and the edge settles by it (`core/last-word.ts`), whether the client
 * still waits or not. A router reports only for an edge that is lost.
 */

import type { Bus } from '@gateway/bus/port'
import { GatewayError } from '@gateway/contracts/errors'
import type { ResponseEnd, ResponseFailure, ResponseHead, PlannedJob } from '@gateway/contracts/job'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { chargeFor } from '@gateway/pricing/charge'
import { type Attributes, requestFields, usageAttributes } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { Admitted } from '../admission/admit.ts'
import { invalidKey } from '../auth/authenticate.ts'
import { type Bill, billOf, errorOf, type Charge, type Departure, type LastWord } from '../core/last-word.ts'
import { anthropicLimitHeaders, smartRouteHeader, quotaStatusHeaders } from '../core/response-headers.ts'
import type { LoadShedder } from '../http/load-shedder.ts'
import type { BytesInFlight } from '../http/memory-budget.ts'
import type { Measured } from '../http/take-steps.ts'
import { type ContentRecord, recordContent } from '../receipts/record-content.ts'
import { type ReceiptSigner, signReceipt } from '../receipts/sign-receipt.ts'
import { type Client, type Headers, openResponseWindow, type ResponseWindow, type Source } from './client-writer.ts'
import { runJob, type ResponseEvents, type JobRun, type RouterLoss } from './run-job.ts'
import { lapse, release, type Reported, settle, type SettleContext, settleInTime, usageEvent } from './settle.ts'
import { takenOver } from './taken-over.ts'

export interface RelayContext extends SettleContext {
  bus: Bus
  bytes: BytesInFlight
  shedder: LoadShedder
}

interface Relay {
  admitted: Admitted
  /** Headers about the model that the request names. They stay the same for every outcome. */
  notices: Record<string, string>
  job: PlannedJob
  body: Uint8Array
  keyHash: string
  deadlineMs: number
  endpoint: string
  measured: Measured
  /** Null: the client wants no receipt. */
  receipt: ReceiptSigner | null
}

/** Resolves when the response has ended. Rejects with the error to send while nothing has been sent yet. */
export function relayResponse(edge: RelayContext, relay: Relay, client: Client): Promise<void> {
  // Its client left while it was being admitted.
  if (client.isOver()) return release(edge, relay.job)
  new RelayedResponse(edge, relay, client).begin()
  return client.ended
}

/** The client waits for the response, or has gone in some way, or the router has said its last word. */
type Phase = 'wanted' | Departure | 'over'

/** Stands between the job and the client: it receives the job's response and passes it on to the client. */
class RelayedResponse implements ResponseEvents, Source {
  readonly #edge: RelayContext
  readonly #relay: Relay
  readonly #client: Client
  readonly #enteredAtMs: number
  #phase: Phase = 'wanted'
  #run: JobRun | null = null
  /** The head of the router that responds now; another router begins again. */
  #head: ResponseHead | null = null
  #window: ResponseWindow
  /** Of the bytes that have passed the window. */
  #content: ContentRecord | null = null

  constructor(edge: RelayContext, relay: Relay, client: Client) {
    this.#edge = edge
    this.#relay = relay
    this.#client = client
    this.#enteredAtMs = performance.now() - relay.admitted.waitedMs
    this.#window = this.#openWindow()
  }

  begin(): void {
    const { job, body, deadlineMs, keyHash, admitted, measured } = this.#relay
    const { bus, shedder, running } = this.#edge
    this.#client.listen(this)
    shedder.enter()
    this.#run = runJob(bus, job, body, deadlineMs, this)
    failpoint('edge.dispatched')
    running.begin({
      account: job.account,
      requestId: job.requestId,
      keyHash,
      reservation: {
        worstCharge: admitted.worstCharge,
        window: job.window,
        keyId: admitted.policy === null ? undefined : job.keyId,
      },
      stream: job.stream,
      measured,
      planVersion: admitted.quotaStatus.planVersion,
      cut: () => {
        if (this.#depart('cut')) this.#client.fail(invalidKey())
      },
    })
  }

  onFirstDispatch(hasOutcome: boolean): void {
    const { shedder } = this.#edge
    shedder.leave()
    // A client that leaves early has not waited for us.
    if (hasOutcome) shedder.arrived(this.#enteredAtMs)
  }

  onHead(head: ResponseHead): void {
    const { admitted, job, measured } = this.#relay
    this.#head = head
    measured.backend = head.backend
    if (this.#phase !== 'wanted') return
    if (measured.span.isRecorded) measured.span.set(headAttributes(head, admitted))
    if (job.stream) this.#measureBegin(head)
    this.#client.begin(head.contentType, () => responseHeaders(this.#relay, head))
    failpoint('edge.response-begun')
  }

  onData(bytes: Uint8Array): void {
    if (this.#phase === 'wanted') this.#window.pass(bytes)
    else this.#window.note(bytes)
  }

  onRouterLost(loss: RouterLoss): boolean {
    reportLoss(this.#edge, this.#relay.job, loss)
    if (!this.#client.restart()) return false
    this.#head = null
    this.#window.close()
    this.#window = this.#openWindow()
    return true
  }

  onEnd(end: ResponseEnd): Promise<void> {
    return this.#conclude({ kind: 'end', end })
  }

  onFailure(failure: ResponseFailure): Promise<void> {
    return this.#conclude({ kind: 'failure', failure })
  }

  onInterrupted(): void {
    void this.#conclude({ kind: 'lost' })
  }

  onOverdue(): void {
    if (!this.#depart('router_lost')) return
    this.#client.fail(new GatewayError('SERVICE_UNAVAILABLE', 'The time for this request is up'))
  }

  consumed(bytes: number): void {
    this.#window.taken(bytes)
  }

  left(why: 'client_gone' | 'edge_lost' = 'client_gone'): void {
    this.#depart(why)
  }

  headersOnSilence(): Record<string, string> {
    return responseHeaders(this.#relay, null)
  }

  #openWindow(): ResponseWindow {
    const { job, receipt } = this.#relay
    const dialect = streamDialect(job)
    this.#content = receipt && recordContent(dialect, this.#client, this.#client.shownOf)
    return openResponseWindow(dialect, {
      reader: this.#content ?? this.#client,
      consumed: (bytes) => this.#run?.consumed(bytes),
      reservation: this.#edge.bytes.reserveResponse(job.account),
      onOutOfMemory: () => {
        if (!this.#depart('cut')) return
        this.#client.fail(new GatewayError('SERVICE_UNAVAILABLE', 'The gateway has no room for the end of this answer'))
      },
    })
  }

  /** The client has gone: the router stops the backend, and its last word states the cost. */
  #depart(how: Departure): boolean {
    if (this.#phase !== 'wanted') return false
    this.#phase = how
    this.#run?.stop()
    return true
  }

  /** The router keeps its last word until the usage is stored: where this edge dies before, it reports. */
  async #conclude(word: LastWord): Promise<void> {
    let reported: Reported | null
    try {
      reported = await this.#respondAndBill(word)
    } finally {
      this.#window.close()
    }
    await reported?.stored
  }

  async #respondAndBill(word: LastWord): Promise<Reported | null> {
    const departure = await this.#departureAt(word)
    const head = this.#head
    const { job } = this.#relay
    const { events } = this.#window
    const bill = billOf(word, { departure, head, events, promptTokensEstimate: job.promptTokensEstimate })
    if (word.kind === 'end' && departure === null && head && bill.kind === 'charge') {
      return this.#deliver(head, bill.charge)
    }
    noteBusyRouters(this.#edge, word)
    if (departure === null) this.#client.fail(errorOf(word, job.lane))
    return settleBill(this.#edge, job, bill)
  }

  /**
   * A process that stood still may see its router's loss before it learns that another edge has the request. The client pays that
   * edge's run alone.
   */
  async #departureAt(word: LastWord): Promise<Departure | null> {
    const departure = this.#phase === 'wanted' || this.#phase === 'over' ? null : this.#phase
    this.#phase = 'over'
    if (departure !== null || word.kind === 'end' || (await this.#client.owns?.()) !== false) return departure
    this.#client.fail(takenOver())
    return 'edge_lost'
  }

  async #deliver(head: ResponseHead, charge: Charge): Promise<Reported | null> {
    const { job, measured } = this.#relay
    const { usage } = charge
    if (measured.span.isRecorded) measured.span.set(usageAttributes(usage))
    const event = usageEvent(job, charge)
    const { rest, headers } = await this.#lastBytes(event)
    let reported: Reported | null = null
    try {
      if ((await this.#client.keep?.(event, rest, headers)) === false) return await this.#yieldTo(event)
      reported = settle(this.#edge, event)
      await reported.inTime
    } catch (cause) {
      this.#client.fail(
        new GatewayError('SERVICE_UNAVAILABLE', 'The answer could not be metered in time', {}, { cause }),
      )
      return reported
    }
    failpoint('edge.usage-stored')
    if (rest.length > 0) this.#client.write(rest)
    if (!job.stream) this.#measureBegin(head)
    this.#client.finish(() => ({ ...responseHeaders(this.#relay, head, chargeFor(job.price, usage)), ...headers }))
    failpoint('edge.response-ended')
    return reported
  }

  /** With the receipt, where the client wants one. */
  async #lastBytes(event: UsageEvent): Promise<{ rest: Uint8Array; headers: Headers }> {
    const rest = this.#window.rest()
    const { receipt } = this.#relay
    if (this.#content === null || receipt === null) return { rest, headers: {} }
    return this.#content.conclude(rest, (content) => signReceipt(receipt, event, content))
  }

  /** The run that took the request over is the one that its client pays for. */
  #yieldTo(event: UsageEvent): Promise<Reported> {
    this.#client.fail(takenOver())
    return settleInTime(this.#edge, { ...event, outcome: 'edge_lost', delivered: false })
  }

  /** A stream begins with its first content; a JSON response is sent when it is complete and metered. */
  #measureBegin({ backendMs }: ResponseHead): void {
    const { job, measured, endpoint } = this.#relay
    const { metrics } = this.#edge
    const tookMs = performance.now() - measured.startedAtMs
    if (backendMs !== undefined) metrics.added(endpoint, tookMs - backendMs)
    if (!job.stream) return
    measured.firstTokenMs = tookMs
    metrics.firstToken(job.lane, tookMs)
    measured.span.event('first content')
  }
}

/** Null: the response is JSON. */
function streamDialect({ stream, dialect = 'chat' }: PlannedJob): ClientDialect | null {
  return stream ? dialect : null
}

/** Routers that are late gave the job back: the edge takes in less. */
function noteBusyRouters(edge: RelayContext, word: LastWord): void {
  if (word.kind !== 'failure' || word.failure.code !== 'SERVICE_UNAVAILABLE') return
  if (word.failure.retryAfterMs === undefined) return
  edge.metrics.shed('routers_busy')
  edge.shedder.refusedBehind()
}

/** Null: there is nothing to report. */
async function settleBill(edge: RelayContext, job: PlannedJob, bill: Bill): Promise<Reported | null> {
  if (bill.kind === 'charge') return settleInTime(edge, usageEvent(job, bill.charge))
  if (bill.kind === 'unknown') lapse(edge, job)
  else await release(edge, job)
  return null
}

/** A request that loses router after router likely kills them. */
function reportLoss(edge: RelayContext, job: PlannedJob, { router, losses, isLast }: RouterLoss): void {
  edge.metrics.routerLost(isLast)
  const fields = { ...requestFields(job.requestId, job.traceparent), keyId: job.keyId, router, losses }
  if (isLast) edge.logger.error(fields, 'a request has lost every router that took it, and is given up')
  else edge.logger.warn(fields, 'a request has lost its router')
}

function headAttributes(head: ResponseHead, { lane }: Admitted): Attributes {
  return {
    'gen_ai.response.model': head.backendModel,
    'gateway.lane': lane.id,
    'gateway.pool': head.upstream,
    'gateway.backend': head.backend,
  }
}

/** `spent`: this request's cost, once that is known. */
function responseHeaders(
  { admitted, notices, job, receipt }: Relay,
  head: ResponseHead | null,
  spent = 0,
): Record<string, string> {
  const headers: Record<string, string> = {
    ...quotaStatusHeaders(admitted.quotaStatus, admitted.plan.unit, spent),
    ...notices,
    ...(job.dialect === 'messages' && { ...anthropicLimitHeaders(admitted.quotaStatus), 'request-id': job.requestId }),
  }
  if (receipt && !job.stream) headers['trailer'] = RECEIPT_HEADER
  // The pool is known before its response: headers that keep-alive commits early name it, too.
  headers['x-svc-upstream'] = head?.upstream ?? job.pool
  if (head?.droppedParams) headers['x-svc-dropped-params'] = head.droppedParams.join(', ')
  const { lane, reason, confidence } = admitted
  if (reason) headers['x-svc-smart-route'] = smartRouteHeader({ laneId: lane.id, reason, confidence })
  return headers
}
