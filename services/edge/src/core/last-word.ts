/**
 * Draws the consequences of a router's last word. One is the cost of the request, which also depends on whether the client
 * still waits. The other is the error for a client that waits without a response. The edge reports by this table alone.
 *
 * A failure before content is free while the client waits. A client that has left, or whose own timeout is over, pays for the
 * work of its last backend.
 */

import type { ResponseEnd, ResponseFailure, ResponseHead } from '@gateway/contracts/job'
import { NO_TOKENS, type TokenUsage } from '@gateway/contracts/usage'
import type { AttemptRecord, UsageEvent } from '@gateway/contracts/usage-event'
import { GatewayError } from '@gateway/contracts/errors'
import { refusalSentence, refusedField } from '@gateway/contracts/refusal-sentence'

export type LastWord =
  | { kind: 'end'; end: ResponseEnd }
  | { kind: 'failure'; failure: ResponseFailure }
  /** The router was lost, and the job went to no other. */
  | { kind: 'lost' }

/** The ledger's outcome for a request that no client waits for any more. */
export type Departure = 'client_gone' | 'cut' | 'router_lost' | 'edge_lost'

export interface Received {
  /** Null: the client still waits. */
  departure: Departure | null
  head: Served | null
  /** Whole events of a stream since its head. */
  events: number
  promptTokensEstimate: number
}

/** The backend that served the response. */
export type Served = Pick<ResponseHead, 'backend' | 'backendModel'>

export interface Charge {
  served: Served
  outcome: UsageEvent['outcome']
  /** True where all of the response was ready to reach the client. */
  delivered: boolean
  usage: TokenUsage
  attempts: AttemptRecord[]
}

export type Bill =
  | { kind: 'charge'; charge: Charge }
  | { kind: 'nothing' }
  /** Only the lost router knows. If it lives, it reports the cost. */
  | { kind: 'unknown' }

export function billOf(word: LastWord, received: Received): Bill {
  switch (word.kind) {
    case 'end':
      return billOfEnd(word.end, received)
    case 'failure':
      return billOfFailure(word.failure, received)
    case 'lost':
      return billOfLoss(received)
  }
}

function billOfEnd({ usage, attempts }: ResponseEnd, { departure, head }: Received): Bill {
  const served = head ?? lastOf(attempts)
  if (!served) return NOTHING
  const delivered = departure === null && head !== null
  const outcome = departure ?? (delivered ? 'completed' : 'undelivered')
  return { kind: 'charge', charge: { served, outcome, delivered, usage, attempts } }
}

function billOfFailure({ usage, attempts, clientTimedOut }: ResponseFailure, received: Received): Bill {
  const { head } = received
  const departure = received.departure ?? (clientTimedOut ? 'client_gone' : null)
  const isOwed = head !== null || (departure !== null && usage !== undefined)
  const served = head ?? lastOf(attempts)
  if (!isOwed || !served) return NOTHING
  const outcome = departure ?? 'backend_failed'
  return { kind: 'charge', charge: { served, outcome, delivered: false, usage: usage ?? NO_TOKENS, attempts } }
}

/** The edge has no count of tokens, but the usual backend sends one token in each event. */
function billOfLoss({ departure, head, events, promptTokensEstimate }: Received): Bill {
  if (!head) return { kind: 'unknown' }
  const usage = { ...NO_TOKENS, promptTokens: promptTokensEstimate, completionTokens: events, estimated: true }
  const outcome = departure ?? 'router_lost'
  return { kind: 'charge', charge: { served: head, outcome, delivered: false, usage, attempts: [] } }
}

function lastOf(attempts: readonly AttemptRecord[]): Served | null {
  const last = attempts.at(-1)
  return last ? { backend: last.backend, backendModel: last.model } : null
}

const NOTHING: Bill = { kind: 'nothing' }

/** `lane`: the lane that was to serve the request. */
export function errorOf(word: LastWord, lane: string): GatewayError {
  switch (word.kind) {
    case 'end':
      return new GatewayError('INTERNAL_ERROR', 'The answer had no beginning')
    case 'failure':
      return failureToError(word.failure, lane)
    case 'lost':
      return new GatewayError('UPSTREAMS_EXHAUSTED', 'The answer was interrupted; try again', { tier: lane })
  }
}

const CLIENTS_TIME_IS_OVER =
  "The request's own timeout was over before the model answered; allow more time, ask for less, or pick a faster model"

export function failureToError(failure: ResponseFailure, lane: string): GatewayError {
  switch (failure.code) {
    case 'UPSTREAMS_EXHAUSTED':
      if (failure.clientTimedOut) return new GatewayError('CLIENT_TIMEOUT', CLIENTS_TIME_IS_OVER)
      return new GatewayError('UPSTREAMS_EXHAUSTED', 'All inference backends are unavailable; try again with backoff', {
        tier: lane,
        attempted: failure.attempted,
        retryAfterMs: failure.retryAfterMs,
        target: failure.targetError,
      })
    case 'BACKEND_REFUSED':
      return refusalError(failure)
    case 'SERVICE_UNAVAILABLE':
      return new GatewayError('SERVICE_UNAVAILABLE', failure.message, { retryAfterMs: failure.retryAfterMs })
    default:
      // A newer router's code is no code of this edge.
      return new GatewayError('INTERNAL_ERROR', failure.message, { retryAfterMs: failure.retryAfterMs })
  }
}

/** A refusal that came from no target is the gateway's own. A router of release 0.1.0 does not say which. */
function refusalError({ refusal, targetError: target, backendBody, message: ours }: ResponseFailure): GatewayError {
  if (!refusal) {
    return new GatewayError('VALIDATION_ERROR', refusalSentence(backendBody) ?? ours, {
      param: refusedField(backendBody),
    })
  }
  const { message, ...words } = refusal
  return new GatewayError('VALIDATION_ERROR', message, { refusal: words, target })
}
