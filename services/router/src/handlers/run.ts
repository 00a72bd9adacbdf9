/**
 * One job on its way: what is asked, how long there is, what has been tried, and what its client has been shown.
 */

import { encodeJson } from '@gateway/bus/json'
import type { IncomingJob } from '@gateway/bus/port'
import type { AnswerHead, JobHeader } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import type { AttemptRecord } from '@gateway/contracts/usage-event'
import type { ApiDialect } from '@gateway/contracts/vendors'
import type { Span } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { Exchange } from '../clients/exchange.ts'
import type { TargetForm } from '../core/target-form.ts'
import { toldNames } from '../core/told-names.ts'
import type { Identity } from '../core/whole-record.ts'
import { clientDialect, type Target } from '../fleet.ts'

export interface Run {
  job: IncomingJob
  header: JobHeader
  /** The question as backends get it, bar the members that each dialect writes itself. */
  body: Uint8Array
  /** embeddings: vectors to expect. */
  inputs: number
  /** Set where the pool keeps conversations on their backend. */
  affinityKey: string | undefined
  /** By `performance.now()`. */
  deadlineAt: number
  /** When the head must be there, at the latest; by `performance.now()`. */
  headDueAt: number
  attempts: AttemptRecord[]
  /** In which the call under way is written. */
  form: TargetForm
  /** The client's parameters that the call under way leaves out. */
  dropped: string[]
  /** The call under way, as a chat completion, where it was translated into one. */
  asChat: Uint8Array | undefined
  /** What the dialect needs of the call under way to read its answer. */
  echo: unknown
  /** The whole job. */
  span: Span
  /** The call under way. */
  callSpan: Span
  /** The call under way. */
  exchange: Exchange | null
  /** Time that was spent waiting for backends; the call under way is added when its answer is there. */
  backendMs: number
  /** By `performance.now()`: since when the call under way is waited for; null when none is. */
  waitingSince: number | null
  /** The target of the call under way. */
  target: Target | null
  /** The usage of the call under way so far, where its answer tells it. */
  usage: (() => Promise<TokenUsage>) | null
  /** Set with the head: from then on the client has seen something, and what was generated is billed. */
  shown: Shown | null
  /** Set when the caller goes before the head, while a backend is at work. */
  abandoned: Shown | null
}

/** An answer that the client pays for: it saw some of it, or a backend was at work on it when the client left. */
export interface Shown {
  target: Target
  /** Tokens until now: the backend's own figures, or counted. */
  usage(): Promise<TokenUsage>
}

/**
 * Holds the figures alone. A function that closes over the attempt would keep the attempt as long as the run, and small
 * collections would then leave one job after another.
 */
export function telling(usage: TokenUsage): Shown['usage'] {
  return () => Promise.resolve(usage)
}

/** Sends the head: from here on there is no other target. */
export function show(run: Run, contentType: string, shown: Shown): void {
  const head: AnswerHead = {
    contentType,
    upstream: run.header.pool,
    backend: shown.target.backend.config.id,
    backendModel: shown.target.model,
    backendMs: Math.round(run.backendMs * 100) / 100,
  }
  if (run.dropped.length > 0) head.droppedParams = toldNames(run.dropped)
  run.shown = shown
  if (run.header.stream) run.callSpan.event('first content')
  run.job.head(encodeJson(head))
  failpoint('router.answer-begun')
}

/**
 * The caller has gone: the router stops the backend. A backend is at work from the moment it has the request until it
 * refuses or fails. Its work costs the usage that its answer has told so far, or else the prompt.
 */
export function abandon(run: Run, reason: unknown): void {
  const { exchange, target, header } = run
  if (!run.shown && target && exchange?.isAtWork) {
    run.abandoned = { target, usage: run.usage ?? (() => Promise.resolve(promptAlone(header))) }
  }
  exchange?.abort(reason)
}

/** The answer that the client pays for if the job ends now. Null: it pays nothing. */
export function owed(run: Run): Shown | null {
  return run.shown ?? run.abandoned
}

function promptAlone({ promptTokensEstimate }: JobHeader): TokenUsage {
  return {
    promptTokens: promptTokensEstimate,
    completionTokens: 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  }
}

/** For an answer whose backend leaves these out. */
export function identityOf({ header }: Run, { model }: Target): Identity {
  const id = ID_PREFIX[clientDialect(header)] + header.requestId
  return { id, created: Math.floor(Date.now() / 1_000), model }
}

const ID_PREFIX: Record<ApiDialect, string> = { chat: 'chatcmpl-', responses: 'resp_', messages: 'msg_' }

export function beginWaiting(run: Run): void {
  run.waitingSince = performance.now()
}

/** The answer, or its first content, is there; or the call has failed. */
export function endWaiting(run: Run): void {
  if (run.waitingSince === null) return
  run.backendMs += performance.now() - run.waitingSince
  run.waitingSince = null
}

/** Until the head is sent, the time in which it is awaited; from then on the whole request's. */
export function remainingMs(run: Run): number {
  return (run.shown ? run.deadlineAt : run.headDueAt) - performance.now()
}
