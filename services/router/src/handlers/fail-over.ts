/**
 * Carries a job from target to target until one serves it, the request proves to be wrong, or nobody is left.
 *
 * Every distinct target gets one attempt; then a few repeats, rationed by the pool's budget. Once the client has seen
 * something there is no other target, and a failure is told as one.
 */

import type { AnswerEnd, AnswerFailure } from '@gateway/contracts/job'
import { setTimeout as sleep } from 'node:timers/promises'
import { requestFields } from '@gateway/service/trace-context'
import { attemptBudgetMs } from '../core/attempt-budget.ts'
import { wasFaster } from '../core/attempt-patience.ts'
import { BackendFault, isContextOverflow, isRequestsOwnFault, isWorthRepeating } from '../core/backend-fault.ts'
import { chooseTarget, type Candidate } from '../core/choose-target.ts'
import { kindOf } from '../core/target-kind.ts'
import { earn, MAX_REPEATS_PER_REQUEST, pauseBeforeRepeat, spend } from '../core/retry-budget.ts'
import {
  capableTargets,
  hasPlaceAt,
  isFull,
  isFullEvenSo,
  isOnTrial,
  isUsable,
  noteEnd,
  usableFrom,
  type Seat,
  type Target,
  type TargetPool,
} from '../fleet.ts'
import { learnForm } from '../target-forms.ts'
import type { Router } from '../router.ts'
import { attempt, blame, isLeftWaiting, type Trial } from './attempt.ts'
import { remainingMs, type Run } from './run.ts'

export type Outcome = { kind: 'end'; end: AnswerEnd } | { kind: 'failure'; failure: AnswerFailure }

/** Waiting for a place leaves the rest of the time to be served in. */
const MOST_OF_TIME_WAITING = 0.5

type Next =
  /** The place at the target's backend is taken. */
  | ({ kind: 'attempt' } & Trial)
  /** The config has changed meanwhile. */
  | { kind: 'choose_again' }
  | { kind: 'give_up'; reason: 'exhausted' | 'busy' | 'stopping' }

/** An attempt that was given up because another target could take the request. */
interface LeftWaiting {
  seat: Seat
  fault: BackendFault
  afterMs: number
  /** Those of the pool that could have served it. */
  capable: Target[]
}

export async function failOver(run: Run, pool: TargetPool, router: Router): Promise<Outcome> {
  pool.retryBudget = earn(pool.retryBudget)
  /** By the target's key: a target is the same one when a new config has replaced its backend. */
  const faults = new Map<string, BackendFault>()
  const leftWaiting: LeftWaiting[] = []
  const onContent: Trial['onContent'] = (seat, tookMs) => blameSlower(leftWaiting, seat, tookMs, router)
  let refused: Refused | null = null
  /** It has refused a form of the request, and gets another form of it. */
  let again: Target | null = null
  for (let repeats = 0; ;) {
    const capable = capableTargets(router.fleet.pool(pool.id) ?? pool, run.header.needs)
    if (capable.length === 0) return incapable(run)
    const canRepeat = () => repeats < MAX_REPEATS_PER_REQUEST && spend(pool.retryBudget) !== null
    const offered: Target[] = refused ? targetsOfOtherKind(refused.by, capable) : capable
    const choosing: Choosing = { run, capable: offered, again, faults, canRepeat, onContent, router }
    let next: Next | undefined = await nextUntried(choosing)
    if (refused && next?.kind !== 'attempt') return refusal(run, refused.fault)
    next ??= await nextRepeat(choosing, pool, repeats++)
    // Others may have taken the place that an attempt was given up for.
    if (next.kind === 'give_up' && next.reason === 'busy' && faults.size > 0) {
      next = await nextRepeat(choosing, pool, repeats++)
    }
    if (next.kind === 'choose_again') continue
    if (next.kind === 'give_up') return giveUp(run, next.reason)
    const { seat }: Trial = next
    const { target } = seat
    if (target !== again) noteFailover(run, pool, router)
    again = null
    try {
      const usage = await attempt(run, next, router)
      return { kind: 'end', end: { usage, attempts: run.attempts } }
    } catch (fault) {
      if (!(fault instanceof BackendFault)) throw fault
      router.logger.debug(
        {
          ...requestFields(run.header.requestId, run.header.traceparent),
          target: target.key,
          outcome: fault.outcome,
          err: fault,
        },
        'an attempt failed',
      )
      if (run.shown) return brokenOff(run, await run.shown.usage())
      if (learnForm(run, target, fault, performance.now())) {
        faults.delete(target.key)
        again = target
        continue
      }
      faults.set(target.key, fault)
      if (isLeftWaiting(fault)) leftWaiting.push({ seat, fault, afterMs: performance.now() - seat.startedAt, capable })
      if (refused) return refusal(run, refused.fault)
      if (isRequestsOwnFault(fault) && !canLargerTargetHelp(fault, target, capable, faults)) {
        refused = { fault, by: target }
      }
    }
  }
}

/** A target has found the request itself to be wrong: one of another kind may be asked, once. */
interface Refused {
  fault: BackendFault
  by: Target
}

/** Only one that could serve it at once: its client has its answer already. */
function targetsOfOtherKind({ backend: refusing }: Target, capable: Target[]): Target[] {
  const kind = kindOf(refusing.config)
  const now = performance.now()
  return capable.filter(
    (target) => kindOf(target.backend.config) !== kind && isUsable(target, now) && !isFull(target.backend),
  )
}

/** Another target has answered the request: those that had been given longer than it took were too slow. */
function blameSlower(leftWaiting: LeftWaiting[], answering: Seat, tookMs: number, router: Router): void {
  const now = performance.now()
  for (const { seat, fault, afterMs, capable } of leftWaiting.splice(0)) {
    const { backend } = seat.target
    if (backend === answering.target.backend || !wasFaster(tookMs, afterMs)) continue
    // The last usable target stays, however slow: there is nobody to go to instead.
    if (capable.some((other) => other.backend !== backend && isUsable(other, now))) blame(seat, fault, router)
  }
}

/** What a choice goes by. */
interface Choosing {
  run: Run
  /** In the pool, with every capability that is needed. */
  capable: Target[]
  again: Target | null
  faults: Map<string, BackendFault>
  canRepeat(): boolean
  onContent: Trial['onContent']
  router: Router
}

/** Another attempt after one that failed. */
function noteFailover(run: Run, pool: TargetPool, router: Router): void {
  const failed = run.attempts.at(-1)
  if (failed) router.metrics.failover(pool.id, failed.backend)
}

/** The next target without an attempt so far; undefined when each has had one. */
function nextUntried(choosing: Choosing): Next | Promise<Next> | undefined {
  const { run, capable, again, faults, router } = choosing
  if (router.expired) return { kind: 'give_up', reason: 'stopping' }
  if (remainingMs(run) <= 0) return { kind: 'give_up', reason: 'exhausted' }
  const untried = capable.filter((target) => !faults.has(target.key))
  if (again && untried.includes(again) && !isFull(again.backend)) return take(choosing, untried, again, untried.length)
  return untried.length === 0 ? undefined : haveNext(choosing, untried)
}

/** Everyone failed once: the one whose trouble may have passed is asked again, when the budget has a repeat to give. */
async function nextRepeat(choosing: Choosing, pool: TargetPool, repeats: number): Promise<Next> {
  const { run, capable, faults, router } = choosing
  const exhausted: Next = { kind: 'give_up', reason: 'exhausted' }
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
  const proven = ready.filter((target) => !isOnTrial(target))
  const next = await haveNext(choosing, proven.length > 0 ? proven : ready)
  return next.kind === 'attempt' ? { ...next, othersLeft: () => false } : next
}

/** One of the targets with a place at it, at once or when one is to be had. */
function haveNext(choosing: Choosing, targets: Target[]): Next | Promise<Next> {
  return takeBest(choosing, targets) ?? waitForPlace(choosing, targets)
}

/** Takes a place at the best target; null while those of the best rank are all full. */
function takeBest(choosing: Choosing, targets: Target[]): Next | null {
  const { run } = choosing
  const candidates = targets.map((target) => candidateOf(target, run))
  let choice = chooseTarget(candidates, choiceOptions(run))
  // Where this router has no place at any of them, one request that nobody else can serve goes even so.
  if (choice.kind === 'wait' && !choice.targets.some(({ target }) => hasPlaceAt(target.backend))) {
    const even = choice.targets.map((candidate) => ({ ...candidate, full: isFullEvenSo(candidate.target.backend) }))
    choice = chooseTarget(even, choiceOptions(run))
  }
  return choice.kind === 'target' ? take(choosing, targets, choice.target.target, choice.untried) : null
}

function take(choosing: Choosing, targets: Target[], target: Target, untried: number): Next {
  const { run, capable, onContent, router } = choosing
  const isTrial = isOnTrial(target)
  const seat = router.places.take(target)
  return {
    kind: 'attempt',
    seat,
    shareMs: attemptBudgetMs(remainingMs(run), untried),
    othersLeft: () => isAnyReady(targets, target, run) || (isTrial && canGoBack(choosing)),
    othersAnsweredSince(at) {
      const now = performance.now()
      return capable.some(
        (other) => other.backend !== target.backend && other.backend.answeredFrom >= at && isUsable(other, now),
      )
    },
    onContent,
  }
}

/** Whether another of the targets would take the request now, and can hold its prompt as well as this one. */
function isAnyReady(targets: Target[], target: Target, run: Run): boolean {
  const now = performance.now()
  return targets.some((other) => {
    if (other === target || isFull(other.backend) || !isUsable(other, now)) return false
    return fitsPrompt(other, run) || !fitsPrompt(target, run)
  })
}

/** A target that was left waiting may have been at work: it is asked again before a trial is trusted with all the time. */
function canGoBack({ capable, faults, canRepeat }: Choosing): boolean {
  const now = performance.now()
  const wasLeft = ({ key }: Target) => isLeftWaiting(faults.get(key))
  return canRepeat() && capable.some((other) => wasLeft(other) && isUsable(other, now) && !isFull(other.backend))
}

async function waitForPlace(choosing: Choosing, targets: Target[]): Promise<Next> {
  const { run, router } = choosing
  const waitingSince = performance.now()
  const waited = await router.places.wait<Next>({
    account: run.header.account,
    wants: (backend) => targets.some((target) => target.backend === backend),
    choose: () => takeBest(choosing, targets),
    choiceAt: () => nextChoiceAt(targets),
    timeoutMs: remainingMs(run) * MOST_OF_TIME_WAITING,
    signal: run.job.signal,
  })
  router.metrics.waited(run.header.pool, performance.now() - waitingSince)
  if (run.job.signal.aborted) {
    if (waited.kind === 'chosen' && waited.choice.kind === 'attempt') giveBack(waited.choice.seat, router)
    throw run.job.signal.reason
  }
  if (waited.kind === 'chosen') return waited.choice
  return waited.kind === 'choose_again' ? waited : giveUpWaiting(choosing, targets)
}

function giveBack(seat: Seat, router: Router): void {
  if (noteEnd(seat)) router.places.look()
  router.places.free(seat.target.backend)
}

/** When the next of those that are out is usable. */
function nextChoiceAt(targets: Target[]): number {
  const now = performance.now()
  let at = Infinity
  for (const target of targets) {
    const from = usableFrom(target)
    if (from > now) at = Math.min(at, from)
  }
  return at
}

/** Waited in vain for those that are usable: the others come last, but they come. */
function giveUpWaiting(choosing: Choosing, targets: Target[]): Next {
  const free = targets.filter(({ backend }) => !isFull(backend))
  return takeBest(choosing, free) ?? { kind: 'give_up', reason: 'busy' }
}

function candidateOf(target: Target, run: Run): Candidate & { target: Target } {
  const { key, priority, weight, backend } = target
  return {
    target,
    key,
    priority,
    weight,
    outstanding: backend.outstanding,
    full: isFull(backend),
    usable: isUsable(target, performance.now()),
    fitsPrompt: fitsPrompt(target, run),
  }
}

function fitsPrompt({ contextWindow }: Target, run: Run): boolean {
  return contextWindow === undefined || run.header.promptTokensEstimate < contextWindow
}

function choiceOptions(run: Run): { affinityKey: string | undefined; random: () => number } {
  return { affinityKey: run.affinityKey, random: Math.random }
}

function canLargerTargetHelp(
  fault: BackendFault,
  refused: Target,
  capable: Target[],
  faults: Map<string, BackendFault>,
): boolean {
  if (!isContextOverflow(fault)) return false
  const window = refused.contextWindow ?? Infinity
  return capable.some((target) => !faults.has(target.key) && (target.contextWindow ?? Infinity) > window)
}

function giveUp(run: Run, reason: 'exhausted' | 'busy' | 'stopping'): Outcome {
  if (reason === 'stopping') return failure(run, 'SERVICE_UNAVAILABLE', 'This part of the service is stopping')
  if (reason === 'busy' && run.attempts.length === 0)
    return failure(run, 'SERVICE_UNAVAILABLE', 'All backends of this model are busy')
  return failure(run, 'UPSTREAMS_EXHAUSTED', 'All inference backends are unavailable')
}

function incapable(run: Run): Outcome {
  return failure(
    run,
    'BACKEND_REFUSED',
    `No backend of this model can do what is asked: ${run.header.needs.join(', ')}`,
  )
}

function refusal(run: Run, fault: BackendFault): Outcome {
  return failure(run, 'BACKEND_REFUSED', 'The backend refused the request', {
    ...(fault.status === undefined ? {} : { backendStatus: fault.status }),
    ...(fault.body === undefined ? {} : { backendBody: fault.body }),
  })
}

function brokenOff(run: Run, usage: AnswerEnd['usage']): Outcome {
  return failure(run, 'UPSTREAMS_EXHAUSTED', 'The backend failed in the middle of its answer', { usage })
}

function failure(run: Run, code: AnswerFailure['code'], message: string, more: Partial<AnswerFailure> = {}): Outcome {
  const attempted = [...new Set(run.attempts.map(({ backend }) => backend))]
  return { kind: 'failure', failure: { code, message, attempted, attempts: run.attempts, ...more } }
}
