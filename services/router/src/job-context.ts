/**
 * One job on its way: its request, its time, its former attempts, and the part of the response that its client has.
 */

import { encodeJson } from '@gateway/rpc/json'
import type { IncomingJob } from '@gateway/bus/port'
import type { ResponseFailure, ResponseHead, JobHeader } from '@gateway/contracts/job'
import { NO_TOKENS, type TokenUsage } from '@gateway/contracts/usage'
import type { AttemptRecord } from '@gateway/contracts/usage-event'
import type { Span } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { ToolCalls } from './core/billed-beside.ts'
import type { Exchange } from './clients/exchange.ts'
import type { Body } from './core/failed-bodies.ts'
import { responseId } from './core/response-id.ts'
import type { Identity } from './core/complete-response.ts'
import type { AccountSeal } from './core/state-seal.ts'
import { clientDialect, stateKindOf, type Target } from './backend-registry.ts'

/** From its acceptance on. */
export interface JobContext {
  readonly job: IncomingJob
  readonly header: JobHeader
  /** Set where the pool keeps conversations on their backend. */
  readonly affinityKey: string | undefined
  /** By `performance.now()`. */
  readonly deadlineAtMs: number
  /** When the head must be there, at the latest; by `performance.now()`. */
  readonly headDueAtMs: number
  readonly span: Span
  /** Seals the state that its client keeps. */
  readonly states: AccountSeal
  readonly attempts: AttemptRecord[]
  /** Time that the calls before this one spent waiting for backends. */
  backendMs: number
  /** The call under way. */
  call: Call | null
  /** Set with the head: from then on the client has part of the response, and is billed for the generated tokens. */
  delivered: DeliveredResponse | null
  /** Set when the caller goes before the head, while a backend is at work. */
  abandoned: DeliveredResponse | null
  /** The last call that was cut off when its time was over, while the backend was at work. */
  cutOff: DeliveredResponse | null
  /** Resolves when its last word has been sent. */
  done: Promise<void>
}

/** From the moment its body is there. */
export interface BoundJob extends JobContext {
  /** The request as backends get it, bar the members that each dialect writes itself. */
  readonly body: Buffer
  readonly bodyKey: Body
  /** embeddings: vectors to expect. */
  readonly inputs: number
}

/** One request to one target, until its response is over. */
export interface Call {
  readonly target: Target
  readonly exchange: Exchange
  readonly span: Span
  /** The client's parameters that it leaves out. */
  readonly dropped: string[]
  /** The parts of the request that the dialect needs to read its response. */
  readonly echo: unknown
  /** By `performance.now()`; null when its response, or its first content, is there. */
  waitingSinceMs: number | null
  /** The usage so far, if the response has it. */
  usage: (() => Promise<TokenUsage>) | null
}

/** A response that the client pays for: it saw some of it, or a backend was at work on it when the client left. */
export interface DeliveredResponse {
  target: Target
  /** Tokens until now: the backend's own figures, or counted. */
  usage(): Promise<TokenUsage>
}

/**
 * Holds the figures alone. A function that closes over the attempt would keep the attempt until the job ends. Small
 * collections would then leave one job after another.
 */
export function reporting(usage: TokenUsage): DeliveredResponse['usage'] {
  return () => Promise.resolve(usage)
}

/** Sends the head: from here on there is no other target. */
export function sendHead(run: JobContext, call: Call, contentType: string, usage: DeliveredResponse['usage']): void {
  const { target, span, dropped } = call
  const head: ResponseHead = {
    contentType,
    upstream: run.header.pool,
    backend: target.backend.config.id,
    backendModel: target.model,
    backendMs: Math.round(run.backendMs * 100) / 100,
  }
  if (dropped.length > 0) head.droppedParams = reportedNames(dropped)
  run.delivered = { target, usage }
  if (run.header.stream) span.event('first content')
  run.job.head(encodeJson(head))
  failpoint('router.response-begun')
}

const LONGEST_NAME = 64
const LONGEST_LIST = 1_000

/**
 * Names of parameters as a header can hold them: a client may have invented them, in any letters and of any length.
 * They are escaped as in an address, where letters need that. The last entry counts the names that do not fit.
 */
export function reportedNames(names: readonly string[]): string[] {
  const reported: string[] = []
  let left = LONGEST_LIST
  for (const name of names) {
    const escaped = encodeURIComponent(name.slice(0, LONGEST_NAME).toWellFormed())
    left -= escaped.length
    if (left < 0) return [...reported, `and ${names.length - reported.length} more`]
    reported.push(escaped)
  }
  return reported
}

/**
 * The caller has gone: the router stops the backend. A backend is at work from the moment it has the request until it
 * refuses or fails. Its work costs the usage that its response has shown so far, or else the prompt.
 */
export function abandon(run: JobContext, reason: unknown): void {
  const { call } = run
  if (!run.delivered && call?.exchange.isAtWork) run.abandoned = workOf(run, call)
  call?.exchange.abort(reason)
}

/** The work of a backend that has the request. */
export function workOf(run: JobContext, { target, usage }: Call): DeliveredResponse {
  return { target, usage: usage ?? reporting(withSound(estimatedUsage(run, null, 0), run)) }
}

/** The response that the client pays for if the job ends now. Null: it pays nothing. */
export function billableResponse(run: JobContext): DeliveredResponse | null {
  return run.delivered ?? run.abandoned
}

/** Where the backend did not count all: its own figures as far as they go, the edge's of the prompt, ours of the response. */
export function estimatedUsage(
  { header }: JobContext,
  reported: TokenUsage | null,
  completionTokens: number,
): TokenUsage {
  const promptTokens = reported?.promptTokens || header.promptTokensEstimate
  return { ...NO_TOKENS, ...reported, promptTokens, completionTokens, estimated: true }
}

/** Some vendors count sound among other tokens and bill it apart. Then all that the request's text does not explain is sound. */
export function withSound(
  usage: TokenUsage,
  { header: { tokensBesideSound } }: Pick<JobContext, 'header'>,
): TokenUsage {
  if (tokensBesideSound === undefined || usage.audioPromptTokens !== undefined) return usage
  const audioPromptTokens = Math.max(0, usage.promptTokens - tokensBesideSound)
  return { ...usage, audioPromptTokens, estimated: true }
}

/** Adds the calls that the response holds, where the usage does not report them. */
export function withCalls(usage: TokenUsage, { toolCalls }: { toolCalls?: ToolCalls | undefined }): TokenUsage {
  return toolCalls === undefined || usage.toolCalls !== undefined ? usage : { ...usage, toolCalls: { ...toolCalls } }
}

export function failureOf(
  { attempts }: JobContext,
  code: ResponseFailure['code'],
  message: string,
  more: Partial<ResponseFailure> = {},
): ResponseFailure {
  return { code, message, attempted: [...new Set(attempts.map(({ backend }) => backend))], attempts, ...more }
}

/** For a response whose backend leaves these out. */
export function identityOf({ header, states }: JobContext, target: Target): Identity {
  const { model, backend } = target
  const id = responseId(clientDialect(header), header.requestId)
  const { usage: usageRules, reasoningState: stateForm } = backend.profile
  const { finishReasons } = backend.meanings
  return {
    id,
    created: nowSeconds(),
    model,
    usageRules,
    finishReasons,
    states,
    stateKind: stateKindOf(target, header),
    stateForm,
    clock: nowSeconds,
  }
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

/** The response, or its first content, is there; or the call has failed. */
export function endWaiting(run: JobContext, call: Call): void {
  if (call.waitingSinceMs === null) return
  run.backendMs += performance.now() - call.waitingSinceMs
  call.waitingSinceMs = null
}

/** No time is left, and it was the client that set it. */
export function hasClientTimedOut(run: JobContext): boolean {
  return run.headDueAtMs < run.deadlineAtMs && remainingMs(run) <= LAST_MOMENT_MS
}

/** An exchange ends as soon as no whole millisecond is left. */
const LAST_MOMENT_MS = 2

/** Until the head is sent, the time in which it is awaited; from then on the whole request's. */
export function remainingMs(run: JobContext): number {
  return (run.delivered ? run.deadlineAtMs : run.headDueAtMs) - performance.now()
}
