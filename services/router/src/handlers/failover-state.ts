/**
 * Finds the next attempt of a job: the target, with a slot taken at it, and the form in which the target takes the
 * request. When there is none, it returns the reason.
 *
 * Targets without an attempt come first, then rationed repeats. A job waits for a slot where all are taken, and chooses
 * again whenever health or slots change meanwhile. The router learns a target's form from its refusals, and forgets it
 * again.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import {
  attemptBudgetMs,
  MAX_REPEATS_PER_REQUEST,
  pauseBeforeRepeat,
  spend,
  chooseTarget,
  type Candidate,
} from '../core/attempts.ts'
import { isLeftWaiting, isRequestsOwnFault, isWorthRepeating, type BackendFault } from '../core/backend-fault.ts'
import {
  hasFreeSlotAt,
  isFull,
  isFullEvenSo,
  isNative,
  isHalfOpen,
  isOpen,
  isUsable,
  usableFromMs,
  routeOf,
  type Target,
  type TargetPool,
} from '../backend-registry.ts'
import type { Slot } from '../concurrency-limiter.ts'
import type { RouterContext } from '../router-context.ts'
import { remainingMs, type JobContext, type BoundJob } from '../job-context.ts'
import type { JobKind } from '@gateway/contracts/job'
import type { TargetDialect } from '@gateway/contracts/vendors'
import { refusedOf } from '../core/feature-memory.ts'
import type { RefusedFeatures } from '../core/refused-features.ts'
import { EFFORTS, type Effort } from '../core/effort.ts'
import { choicesIn, effortIn } from '../core/messages-form.ts'
import { readRejections } from '../core/refused-parameters.ts'
import {
  refusedEfforts,
  supportOfImages,
  isAccepted,
  withLearned,
  type LearnedRejection,
  type ParameterSupport,
  type Sent,
} from '../core/parameter-support.ts'

/** Waiting for a slot leaves the rest of the time to be served in. */
const MOST_OF_TIME_WAITING = 0.5

/** A job's way from target to target. */
export interface FailoverState {
  readonly run: BoundJob
  readonly pool: TargetPool
  readonly router: RouterContext
  /** To choose from: in the pool, with every capability that is needed. */
  capable: Target[]
  /** It has refused a form of the request, and gets another form of it. */
  again: Target | null
  /** By the target's key: a target is the same one when a new config has replaced its backend. */
  readonly faults: Map<string, BackendFault>
  repeats: number
  /** The number of refusals that taught the router a feature. */
  featureRefusals: number
  readonly pendingFailures: PendingFailure[]
}

/** A failed attempt that a later one judges: its target was slow, or the request may be wrong. */
export interface PendingFailure {
  slot: Slot
  fault: BackendFault
  afterMs: number
}

/** The next attempt: a target, and the slot that it holds there. */
export interface AttemptPlan {
  slot: Slot
  /** The parameters that the target accepts. */
  form: ParameterSupport
  /** The features of the Messages API that the target refuses. */
  refusedFeatures: RefusedFeatures
  /** The time after which another target gets its turn, if one would take the request. */
  shareMs: number
  /** True if another target would take the request at this moment. */
  othersLeft(): boolean
}

export type Next =
  /** The attempt holds a slot at the backend. */
  | ({ kind: 'attempt' } & AttemptPlan)
  /** The config has changed meanwhile. */
  | { kind: 'choose_again' }
  | { kind: 'give_up'; reason: 'exhausted' | 'busy' | 'stopping' }

/** The next target without an attempt so far; undefined when each has had one. */
export function nextUntried(failoverState: FailoverState): Next | Promise<Next> | undefined {
  const { run, again, router } = failoverState
  if (router.expired) return { kind: 'give_up', reason: 'stopping' }
  if (remainingMs(run) <= 0) return { kind: 'give_up', reason: 'exhausted' }
  const untried = untriedOf(failoverState)
  if (again && untried.includes(again) && !isFull(again.backend))
    return take(failoverState, untried, again, untried.length)
  return untried.length === 0 ? undefined : haveNext(failoverState, untried)
}

function untriedOf({ capable, faults }: FailoverState): Target[] {
  return capable.filter((target) => !faults.has(target.key))
}

/**
 * Every target failed once, or has no slot. The router then tries again the target whose trouble may have
 * passed, when the budget has a repeat to give. A target without an attempt goes first once it has a slot.
 */
export async function nextRepeat(failoverState: FailoverState): Promise<Next> {
  const { run, pool, capable, faults, router } = failoverState
  const exhausted: Next = { kind: 'give_up', reason: 'exhausted' }
  const repeats = failoverState.repeats++
  if (repeats >= MAX_REPEATS_PER_REQUEST) return exhausted
  const promising = capable.filter(({ key }) => faults.has(key) && isWorthRepeating(faults.get(key)!))
  if (promising.length === 0) return exhausted
  const soonest = Math.min(...promising.map(({ key }) => faults.get(key)!.retryAfterMs ?? 0))
  const pauseMs = pauseBeforeRepeat({
    repeats,
    retryAfterMs: soonest,
    remainingMs: remainingMs(run),
    random: Math.random(),
  })
  const left = pauseMs === null ? null : spend(pool.retryBudget)
  if (pauseMs === null || !left) return exhausted
  pool.retryBudget = left
  await sleep(pauseMs, undefined, { signal: run.job.signal })
  if (router.expired) return { kind: 'give_up', reason: 'stopping' }
  if (remainingMs(run) <= 0) return exhausted
  const ready = promising.filter(({ key }) => (faults.get(key)!.retryAfterMs ?? 0) <= pauseMs)
  const proven = ready.filter((target) => !isHalfOpen(target, run.header.account))
  const untried = untriedOf(failoverState)
  const again = proven.length > 0 ? proven : ready
  // An operator has drained them meanwhile, or the config has left them.
  if (![...untried, ...again].some(isOpen)) return { kind: 'choose_again' }
  const next = takeBest(failoverState, untried) ?? (await haveNext(failoverState, [...untried, ...again]))
  if (next.kind !== 'attempt') return next
  return { ...next, othersLeft: () => isAnyReady(untried, next.slot.target, run) }
}

/** One of the targets with a free slot, at once or when one is freed. */
function haveNext(failoverState: FailoverState, targets: Target[]): Next | Promise<Next> {
  return takeBest(failoverState, targets) ?? waitForSlot(failoverState, targets)
}

/** Takes a slot at the best target; null while those of the best rank are all full. */
function takeBest(failoverState: FailoverState, targets: Target[]): Next | null {
  const { run } = failoverState
  // An operator may have drained a backend since its targets were listed, or the config may have left it.
  const candidates = targets.filter(isOpen).map((target) => candidateOf(target, failoverState))
  let choice = chooseTarget(candidates, choiceOptions(run))
  // Where this router has no slot at any of them, one request that nobody else can serve goes even so.
  if (choice.kind === 'wait' && !choice.targets.some(({ target }) => hasFreeSlotAt(target.backend))) {
    const even = choice.targets.map((candidate) => ({ ...candidate, full: isFullEvenSo(candidate.target.backend) }))
    choice = chooseTarget(even, choiceOptions(run))
  }
  return choice.kind === 'target' ? take(failoverState, targets, choice.target.target, choice.untried) : null
}

function take(failoverState: FailoverState, targets: Target[], target: Target, untried: number): Next {
  const { run, router } = failoverState
  const { account } = run.header
  const isHalfOpenAttempt = isHalfOpen(target, account)
  const slot = router.limiter.take(target, { account, body: run.bodyKey })
  return {
    kind: 'attempt',
    slot,
    form: formOf(target, routeOf(target, run.header).target, run.header.kind, performance.now()),
    refusedFeatures: refusedOf(target.state.refusedFeatures, run.header.anthropicBeta, performance.now()),
    shareMs: attemptBudgetMs(remainingMs(run), untried),
    othersLeft: () => isAnyReady(targets, target, run) || (isHalfOpenAttempt && canGoBack(failoverState)),
  }
}

/** True if another of the targets would take the request now, and can hold its prompt as well as this one. */
function isAnyReady(targets: Target[], target: Target, run: JobContext): boolean {
  const nowMs = performance.now()
  return targets.some((other) => {
    if (other === target || isFull(other.backend) || !isUsable(other, nowMs, run.header.account)) return false
    return fitsPrompt(other, run) || !fitsPrompt(target, run)
  })
}

/**
 * A target that was left waiting may have been at work. The router tries it again before it spends all the time on a half-open
 * target.
 */
function canGoBack({ run, capable, faults, repeats, pool }: FailoverState): boolean {
  if (repeats >= MAX_REPEATS_PER_REQUEST || spend(pool.retryBudget) === null) return false
  const nowMs = performance.now()
  const wasLeft = ({ key }: Target) => isLeftWaiting(faults.get(key))
  const { account } = run.header
  return capable.some((other) => wasLeft(other) && isUsable(other, nowMs, account) && !isFull(other.backend))
}

async function waitForSlot(failoverState: FailoverState, targets: Target[]): Promise<Next> {
  const { run, router } = failoverState
  const waitingSinceMs = performance.now()
  const waited = await router.limiter.wait<Next>({
    account: run.header.account,
    wants: (freed) => targets.some(({ backend }) => backend.capacity === freed),
    choose: () => takeBest(failoverState, targets),
    choiceAtMs: () => nextChoiceAtMs(targets, run.header.account),
    timeoutMs: remainingMs(run) * MOST_OF_TIME_WAITING,
    signal: run.job.signal,
  })
  router.metrics.waited(run.header.pool, performance.now() - waitingSinceMs)
  if (run.job.signal.aborted) {
    if (typeof waited === 'object' && waited.kind === 'attempt') giveBack(waited.slot, router)
    throw run.job.signal.reason
  }
  if (waited === 'in_vain') return giveUpWaiting(failoverState, targets)
  return waited === 'choose_again' ? { kind: waited } : waited
}

function giveBack(slot: Slot, router: RouterContext): void {
  router.limiter.recordEnd(slot)
  router.limiter.free(slot.target.backend)
}

/** When the next of those that are out is usable. */
function nextChoiceAtMs(targets: Target[], account: string): number {
  const nowMs = performance.now()
  let at = Infinity
  for (const target of targets) {
    const from = usableFromMs(target, account)
    if (from > nowMs) at = Math.min(at, from)
  }
  return at
}

/** Waited in vain for those that are usable: the others come last, but they come. */
function giveUpWaiting(failoverState: FailoverState, targets: Target[]): Next {
  const free = targets.filter(({ backend }) => !isFull(backend))
  return takeBest(failoverState, free) ?? { kind: 'give_up', reason: 'busy' }
}

function candidateOf(target: Target, { run, router }: FailoverState): Candidate & { target: Target } {
  const { key, priority, weight, backend } = target
  return {
    target,
    key,
    priority,
    weight,
    outstanding: backend.capacity.outstanding,
    full: isFull(backend),
    usable: isUsable(target, performance.now(), run.header.account),
    avoided: router.limiter.avoids(target, run.bodyKey),
    fitsPrompt: fitsPrompt(target, run),
    isNative: isNative(target, run.header),
  }
}

function fitsPrompt({ contextWindow }: Target, run: JobContext): boolean {
  return contextWindow === undefined || run.header.promptTokensEstimate < contextWindow
}

function choiceOptions(run: JobContext): { affinityKey: string | undefined; random: () => number } {
  return { affinityKey: run.affinityKey, random: Math.random }
}

const LEARNED_MS = 3_600_000

function formOf(target: Target, targetDialect: TargetDialect, kind: JobKind, nowMs: number): ParameterSupport {
  const known = knownSupport(target, targetDialect, kind)
  const learned = target.state.learned.get(targetDialect)
  return learned ? withLearned(known, learned, nowMs) : known
}

/** The parameters that a target refuses, as known before its first rejection. */
function knownSupport({ backend, model }: Target, targetDialect: TargetDialect, kind: JobKind): ParameterSupport {
  if (kind === 'images') return supportOfImages(model)
  // A Messages request is written in a form of its own (`vendors/claude.ts`).
  if (kind !== 'chat' || targetDialect === 'messages') return []
  const all = [...backend.profile.rejectedParameters(model), ...refusedEfforts(backend.profile.efforts(model))]
  // The others are names and roles of chat alone.
  return targetDialect === 'chat' ? all : all.filter(({ effort }) => effort !== undefined)
}

/** The efforts that a translation may write for the target. */
export function effortsFor({ backend, model }: Target, targetDialect: TargetDialect): readonly Effort[] | undefined {
  return targetDialect === 'messages' ? EFFORTS : backend.profile.efforts(model)
}

/**
 * True if the refusal is of the form that the router chose, so that the same target may take the request in another.
 * Every learned rejection is of a parameter that the request will not carry again, so a request's retries come to an
 * end.
 */
export function learnRejections(
  run: BoundJob,
  target: Target,
  form: ParameterSupport,
  fault: BackendFault,
  nowMs: number,
): boolean {
  const { status, body } = fault
  if (fault.isUnsent || body === undefined || (status !== 400 && status !== 422) || !isRequestsOwnFault(fault))
    return false
  const { kind, stream, defaultMaxTokens } = run.header
  const { dialect, target: targetDialect } = routeOf(target, run.header)
  // Learned rejections are of the request as it was sent, which a translation has written in other words.
  const writtenIn = (inForm: ParameterSupport): Sent => {
    const { profile } = target.backend
    const written = dialect.request({
      ...{ kind, stream, body: run.body, model: target.model, maxTokens: defaultMaxTokens, form: inForm, profile },
      efforts: effortsFor(target, targetDialect),
      states: run.states,
    })
    const json = kind === 'chat' ? (JSON.parse(written.body.toString('utf8')) as Record<string, unknown>) : {}
    const choices = targetDialect === 'messages' ? choicesIn(json) : []
    const body = written.asChat ?? run.body
    return { kind, stream, body, form: inForm, capped: defaultMaxTokens !== undefined, choices, effort: effortIn(json) }
  }
  const sent = writtenIn(form)
  const learned = readRejections(body, sent, fault.meanings).map((refusal): LearnedRejection => ({
    ...refusal,
    untilMs: nowMs + LEARNED_MS,
  }))
  if (learned.length === 0) return false
  // Another request may have learnt the same meanwhile; the later rejection holds.
  const others = (target.state.learned.get(targetDialect) ?? []).filter(
    (old) =>
      old.untilMs > nowMs && !learned.some((one) => one.parameter === old.parameter && one.effort === old.effort),
  )
  target.state.learned.set(targetDialect, [...others, ...learned])
  // Where both names of a client's cap are refused, there is no form that is left.
  return isAccepted(writtenIn(formOf(target, targetDialect, kind, nowMs)))
}
