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
import { BackendFault, isContextOverflow, isRequestsOwnFault, isWorthRepeating } from '../core/backend-fault.ts'
import { chooseTarget, type Candidate } from '../core/choose-target.ts'
import { kindOf } from '../core/target-kind.ts'
import { earn, MAX_REPEATS_PER_REQUEST, pauseBeforeRepeat, spend } from '../core/retry-budget.ts'
import { capableTargets, hasPlaceAt, isFull, isUsable, type Backend, type Target, type TargetPool } from '../fleet.ts'
import { learnForm } from '../image-forms.ts'
import type { Router } from '../router.ts'
import { attempt, type Trial } from './attempt.ts'
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

export async function failOver(run: Run, pool: TargetPool, router: Router): Promise<Outcome> {
  pool.retryBudget = earn(pool.retryBudget)
  /** By the target's key: a target is the same one when a new config has replaced its backend. */
  const faults = new Map<string, BackendFault>()
  let refused: Refused | null = null
  for (let repeats = 0; ;) {
    const capable = capableTargets(router.fleet.pool(pool.id) ?? pool, run.header.needs)
    if (capable.length === 0) return incapable(run)
    const next: Next | undefined = refused
      ? await nextUntried(run, targetsOfOtherKind(refused.by, capable), faults, router)
      : ((await nextUntried(run, capable, faults, router)) ??
        (await nextRepeat(run, pool, capable, faults, repeats++, router)))
    if (refused && next?.kind !== 'attempt') return refusal(run, refused.fault)
    if (!next || next.kind === 'choose_again') continue
    if (next.kind === 'give_up') return giveUp(run, next.reason)
    const { target }: Trial = next
    noteFailover(run, pool, router)
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
      if (learnForm(run, target, fault)) continue
      faults.set(target.key, fault)
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

/** Another attempt after one that failed. */
function noteFailover(run: Run, pool: TargetPool, router: Router): void {
  const failed = run.attempts.at(-1)
  if (failed) router.metrics.failover(pool.id, failed.backend)
}

/** The next target without an attempt so far; undefined when each has had one. */
async function nextUntried(
  run: Run,
  capable: Target[],
  faults: Map<string, BackendFault>,
  router: Router,
): Promise<Next | undefined> {
  if (router.expired) return { kind: 'give_up', reason: 'stopping' }
  if (remainingMs(run) <= 0) return { kind: 'give_up', reason: 'exhausted' }
  const untried = capable.filter((target) => !faults.has(target.key))
  const choice = chooseTarget(
    untried.map((target) => candidateOf(target, run)),
    choiceOptions(run),
  )
  switch (choice.kind) {
    case 'none':
      return undefined
    case 'target':
      router.places.take(choice.target.target.backend)
      return {
        kind: 'attempt',
        target: choice.target.target,
        budgetMs: attemptBudgetMs(remainingMs(run), choice.untried),
        othersLeft: choice.untried > 1,
      }
    case 'wait':
      return waitForPlace(
        run,
        choice.targets.map(({ target }) => target),
        router,
      )
  }
}

/** Everyone failed once: the one whose trouble may have passed is asked again, when the budget has a repeat to give. */
async function nextRepeat(
  run: Run,
  pool: TargetPool,
  capable: Target[],
  faults: Map<string, BackendFault>,
  repeats: number,
  router: Router,
): Promise<Next> {
  const exhausted: Next = { kind: 'give_up', reason: 'exhausted' }
  if (repeats >= MAX_REPEATS_PER_REQUEST) return exhausted
  const promising = capable.filter(({ key }) => isWorthRepeating(faults.get(key)!, run.header.stream))
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
  const choice = chooseTarget(
    ready.map((target) => candidateOf(target, run)),
    choiceOptions(run),
  )
  if (choice.kind !== 'target') return exhausted
  router.places.take(choice.target.target.backend)
  return { kind: 'attempt', target: choice.target.target, budgetMs: remainingMs(run), othersLeft: false }
}

async function waitForPlace(run: Run, targets: Target[], router: Router): Promise<Next> {
  const waitingSince = performance.now()
  const withPlace = targets.filter(({ backend }) => hasPlaceAt(backend))
  const waited = await router.places.wait({
    account: run.header.account,
    backends: new Set((withPlace.length > 0 ? withPlace : targets).map(({ backend }) => backend)),
    timeoutMs: remainingMs(run) * MOST_OF_TIME_WAITING,
    signal: run.job.signal,
  })
  router.metrics.waited(run.header.pool, performance.now() - waitingSince)
  if (run.job.signal.aborted) {
    if (waited.kind === 'place') router.places.free(waited.backend)
    throw run.job.signal.reason
  }
  if (waited.kind === 'in_vain') return { kind: 'give_up', reason: 'busy' }
  if (waited.kind === 'choose_again') return waited
  const choice = chooseTarget(targetsAt(waited.backend, targets, run), choiceOptions(run))
  if (choice.kind !== 'target') throw new Error('a place was given at a backend without a target')
  return {
    kind: 'attempt',
    target: choice.target.target,
    budgetMs: attemptBudgetMs(remainingMs(run), targets.length),
    othersLeft: targets.length > 1,
  }
}

/** The place is taken already, so the backend is not full for this job. */
function targetsAt(backend: Backend, targets: Target[], run: Run): (Candidate & { target: Target })[] {
  const there = targets.filter((target) => target.backend === backend)
  return there.map((target) => ({ ...candidateOf(target, run), full: false }))
}

function candidateOf(target: Target, run: Run): Candidate & { target: Target } {
  const { key, priority, weight, backend, contextWindow } = target
  return {
    target,
    key,
    priority,
    weight,
    outstanding: backend.outstanding,
    full: isFull(backend),
    usable: isUsable(target, performance.now()),
    fitsPrompt: contextWindow === undefined || run.header.promptTokensEstimate < contextWindow,
  }
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
