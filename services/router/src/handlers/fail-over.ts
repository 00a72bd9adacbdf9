/**
 * Carries a job from target to target until one serves it, the request proves to be wrong, or nobody is left.
 *
 * Every distinct target gets one attempt; then a few repeats, rationed by the pool's budget. Once the client has seen
 * something there is no other target, and a failure is told as one.
 */

import type { AnswerEnd, AnswerFailure } from '@gateway/contracts/job'
import { requestFields } from '@gateway/telemetry/tracing'
import { earn, MAX_REPEATS_PER_REQUEST, spend, wasFaster } from '../core/attempts.ts'
import { BackendFault, isContextOverflow, isRequestsOwnFault } from '../core/backend-fault.ts'
import { kindOf } from '../core/target-kind.ts'
import { capableTargets, isFull, isUsable, type Target, type TargetPool } from '../fleet.ts'
import type { Seat } from '../places.ts'
import type { Router } from '../router.ts'
import { learnForm, nextRepeat, nextUntried, type Choosing, type Next } from './next-attempt.ts'
import { attempt, blame, isLeftWaiting, type Trial } from './attempt.ts'
import type { AskedRun, Run } from './run.ts'

export type Outcome = { kind: 'end'; end: AnswerEnd } | { kind: 'failure'; failure: AnswerFailure }

/** An attempt that was given up because another target could take the request. */
interface LeftWaiting {
  seat: Seat
  fault: BackendFault
  afterMs: number
  /** Those of the pool that could have served it. */
  capable: Target[]
}

/** A fault that is its backend's, unless another one finds the request to be wrong. */
interface Doubt {
  seat: Seat
  fault: BackendFault
}

export async function failOver(run: AskedRun, pool: TargetPool, router: Router): Promise<Outcome> {
  const doubts: Doubt[] = []
  try {
    const outcome = await tryTargets(run, pool, router, doubts)
    if (outcome.kind === 'failure' && outcome.failure.code === 'BACKEND_REFUSED') doubts.length = 0
    return outcome
  } finally {
    blameDoubted(doubts, router)
  }
}

function blameDoubted(doubts: Doubt[], router: Router): void {
  for (const { seat, fault } of doubts.splice(0)) blame(seat, fault, router)
}

async function tryTargets(run: AskedRun, pool: TargetPool, router: Router, doubts: Doubt[]): Promise<Outcome> {
  pool.retryBudget = earn(pool.retryBudget)
  /** By the target's key: a target is the same one when a new config has replaced its backend. */
  const faults = new Map<string, BackendFault>()
  const leftWaiting: LeftWaiting[] = []
  const onContent: Trial['onContent'] = (seat, tookMs) => {
    blameDoubted(doubts, router)
    blameSlower(leftWaiting, seat, tookMs, router)
  }
  const onDoubt: Trial['onDoubt'] = (seat, fault) => void doubts.push({ seat, fault })
  let refused: Refused | null = null
  /** It has refused a form of the request, and gets another form of it. */
  let again: Target | null = null
  for (let repeats = 0; ;) {
    const capable = capableTargets(router.fleet.pool(pool.id) ?? pool, run.header)
    if (capable.length === 0) return incapable(run)
    const canRepeat = () => repeats < MAX_REPEATS_PER_REQUEST && spend(pool.retryBudget) !== null
    const offered: Target[] = refused ? targetsOfOtherKind(refused.by, capable) : capable
    const choosing: Choosing = { run, capable: offered, again, faults, canRepeat, onContent, onDoubt, router }
    let next: Next | undefined = await nextUntried(choosing)
    if (refused && next?.kind !== 'attempt') return refusal(run, refused.fault)
    next ??= await nextRepeat(choosing, pool, repeats++)
    // Others may have taken the place that an attempt was given up for.
    if (next.kind === 'give_up' && next.reason === 'busy' && faults.size > 0) {
      next = await nextRepeat(choosing, pool, repeats++)
    }
    if (next.kind === 'choose_again') continue
    if (next.kind === 'give_up') return giveUp(run, next.reason)
    const { seat, form }: Trial = next
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
      if (learnForm(run, target, form, fault, performance.now())) {
        faults.delete(target.key)
        again = target
        continue
      }
      faults.set(target.key, fault)
      if (isLeftWaiting(fault))
        leftWaiting.push({ seat, fault, afterMs: performance.now() - seat.startedAtMs, capable })
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
  const nowMs = performance.now()
  return capable.filter(
    (target) => kindOf(target.backend.config) !== kind && isUsable(target, nowMs) && !isFull(target.backend),
  )
}

/** Another target has answered the request: those that had been given longer than it took were too slow. */
function blameSlower(leftWaiting: LeftWaiting[], answering: Seat, tookMs: number, router: Router): void {
  const nowMs = performance.now()
  for (const { seat, fault, afterMs, capable } of leftWaiting.splice(0)) {
    const { backend } = seat.target
    if (backend === answering.target.backend || !wasFaster(tookMs, afterMs)) continue
    // The last usable target stays, however slow: there is nobody to go to instead.
    if (capable.some((other) => other.backend !== backend && isUsable(other, nowMs))) blame(seat, fault, router)
  }
}

/** Another attempt after one that failed. */
function noteFailover(run: Run, pool: TargetPool, router: Router): void {
  const failed = run.attempts.at(-1)
  if (failed) router.metrics.failover(pool.id, failed.backend)
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
