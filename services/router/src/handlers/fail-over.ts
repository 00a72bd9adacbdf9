/**
 * Carries a job from target to target until one serves it, the request proves to be wrong, or nobody is left.
 *
 * Every distinct target gets one attempt; then a few repeats, rationed by the pool's budget. Once the client has seen
 * something there is no other target, and a failure is reported as one.
 */

import type { ResponseEnd, ResponseFailure } from '@gateway/contracts/job'
import { requestFields } from '@gateway/telemetry/tracing'
import { earn } from '../core/attempts.ts'
import { BackendFault, isContextOverflow, isLeftWaiting, isRequestsOwnFault } from '../core/backend-fault.ts'
import { refusalOf } from '../core/refusal.ts'
import { kindOf } from '../core/target-kind.ts'
import {
  capableTargets,
  clientDialect,
  coolsForMs,
  isFull,
  isNative,
  isOpen,
  isUsable,
  type Target,
  type TargetPool,
} from '../backend-registry.ts'
import type { RouterContext } from '../router-context.ts'
import { attempt, recordFailure } from './attempt.ts'
import { learnRejections, nextRepeat, nextUntried, type FailoverState, type Next } from './failover-state.ts'
import { failureOf, hasClientTimedOut, type BoundJob, type JobContext } from '../job-context.ts'

export type Outcome = ResponseEnd | ResponseFailure

export async function failOver(run: BoundJob, pool: TargetPool, router: RouterContext): Promise<Outcome> {
  const failoverState: FailoverState = {
    run,
    pool,
    router,
    capable: [],
    again: null,
    faults: new Map(),
    repeats: 0,
    featureRefusals: 0,
    pendingFailures: [],
  }
  let outcome: Outcome | null = null
  try {
    return (outcome = await tryTargets(failoverState))
  } finally {
    const isRefused = outcome !== null && 'code' in outcome && outcome.code === 'BACKEND_REFUSED'
    if (!isRefused)
      for (const { slot, fault } of failoverState.pendingFailures)
        if (!isLeftWaiting(fault)) recordFailure(slot, fault, router)
  }
}

async function tryTargets(failoverState: FailoverState): Promise<Outcome> {
  const { run, pool, router, faults } = failoverState
  pool.retryBudget = earn(pool.retryBudget)
  let refused: Refused | null = null
  for (;;) {
    const able = capableTargets(router.backendRegistry.pool(pool.id) ?? pool, run.header)
    if (able.length === 0) return incapable(run)
    const capable = able.filter(isOpen)
    if (capable.length === 0) return refused ? refusal(run, refused) : failureOf(run, 'UPSTREAMS_EXHAUSTED', DRAINED)
    failoverState.capable = refused ? targetsOfOtherKind(refused.by, capable, run) : capable
    let next: Next | undefined = await nextUntried(failoverState)
    if (refused && next?.kind !== 'attempt') return refusal(run, refused)
    next ??= await nextRepeat(failoverState)
    // Others may have taken the slot that an attempt was given up for.
    if (next.kind === 'give_up' && next.reason === 'busy' && faults.size > 0) next = await nextRepeat(failoverState)
    if (next.kind === 'choose_again') continue
    if (next.kind === 'give_up') return giveUp(failoverState, next.reason)
    const { target } = next.slot
    if (target !== failoverState.again) recordFailover(run, pool, router)
    failoverState.again = null
    const { featureRefusals } = failoverState
    try {
      return { usage: await attempt(failoverState, next), attempts: run.attempts }
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
      if (run.delivered) {
        const usage = await run.delivered.usage()
        return failureOf(run, 'UPSTREAMS_EXHAUSTED', 'The backend failed in the middle of its answer', { usage })
      }
      const hasLearned = failoverState.featureRefusals > featureRefusals
      if (hasLearned || learnRejections(run, target, next.form, fault, performance.now())) {
        faults.delete(target.key)
        failoverState.again = target
        continue
      }
      faults.set(target.key, fault)
      if (refused) return refusal(run, refused)
      if (isRequestsOwnFault(fault) && !canLargerTargetHelp(fault, target, failoverState))
        refused = { fault, by: target }
    }
  }
}

/** A target has found the request itself to be wrong. The router may try one target of another kind, once. */
interface Refused {
  fault: BackendFault
  by: Target
}

/** Only one that could serve it at once: its client has its response already. */
function targetsOfOtherKind({ backend: refusing }: Target, capable: Target[], { header }: JobContext): Target[] {
  const kind = kindOf(refusing.config)
  const nowMs = performance.now()
  return capable.filter(
    (target) =>
      kindOf(target.backend.config) !== kind && isUsable(target, nowMs, header.account) && !isFull(target.backend),
  )
}

/** Another attempt after one that failed. */
function recordFailover(run: JobContext, pool: TargetPool, router: RouterContext): void {
  const failed = run.attempts.at(-1)
  if (failed) router.metrics.failover(pool.id, failed.backend)
}

function canLargerTargetHelp(fault: BackendFault, refused: Target, { capable, faults }: FailoverState): boolean {
  if (!isContextOverflow(fault)) return false
  const window = refused.contextWindow ?? Infinity
  return capable.some((target) => !faults.has(target.key) && (target.contextWindow ?? Infinity) > window)
}

async function giveUp(
  failoverState: FailoverState,
  reason: 'exhausted' | 'busy' | 'stopping',
): Promise<ResponseFailure> {
  const { run, capable } = failoverState
  if (reason === 'stopping') return failureOf(run, 'SERVICE_UNAVAILABLE', 'This part of the service is stopping')
  if (hasClientTimedOut(run)) {
    const usage = await run.cutOff?.usage()
    const how = { clientTimedOut: true, ...(usage ? { usage } : {}) }
    return failureOf(run, 'UPSTREAMS_EXHAUSTED', "The client's own time is over", how)
  }
  if (reason === 'busy' && run.attempts.length === 0)
    return failureOf(run, 'SERVICE_UNAVAILABLE', 'All backends of this model are busy')
  const retryAfterMs = coolsForMs(capable, performance.now())
  const advice = retryAfterMs === null ? {} : { retryAfterMs: Math.ceil(retryAfterMs) }
  const more = { ...advice, ...errorOfOnly(failoverState) }
  return failureOf(run, 'UPSTREAMS_EXHAUSTED', 'All inference backends are unavailable', more)
}

/** The passing trouble of the only target: its client reads the status and the advice that it would read without a gateway. */
function errorOfOnly({ run, capable, faults }: FailoverState): Partial<ResponseFailure> {
  const [only, ...others] = capable
  if (only === undefined || others.length > 0) return {}
  const fault = faults.get(only.key)
  if (fault?.own === undefined || fault.account !== undefined) return {}
  const isPassing = fault.own.status === 429 || fault.own.status >= 500
  const error = isPassing ? errorFor(run, { fault, by: only }) : {}
  if (error.targetError === undefined || fault.retryAfterMs === undefined) return error
  return { ...error, retryAfterMs: Math.ceil(fault.retryAfterMs) }
}

/** For a client of Messages, in front of a target of that API. From any other one it gets the status of a body that is too large. */
function errorFor({ header }: JobContext, { fault, by }: Refused): Pick<ResponseFailure, 'targetError'> {
  if (clientDialect(header) !== 'messages' || fault.isUnsent) return {}
  if (isNative(by, header)) return fault.own === undefined ? {} : { targetError: fault.own }
  return fault.status === TOO_LARGE ? { targetError: { status: TOO_LARGE } } : {}
}

const TOO_LARGE = 413

const DRAINED = 'An operator has drained all inference backends of this model'

function incapable(run: JobContext): ResponseFailure {
  const needs = run.header.needs.join(', ')
  return failureOf(run, 'BACKEND_REFUSED', `No backend of this model can do what is asked: ${needs}`)
}

function refusal(run: JobContext, refused: Refused): ResponseFailure {
  const { fault } = refused
  return failureOf(run, 'BACKEND_REFUSED', 'The backend refused the request', {
    ...(fault.status === undefined ? {} : { backendStatus: fault.status }),
    ...(fault.body === undefined ? {} : { backendBody: fault.body }),
    // The router's own refusal is the gateway's.
    ...(fault.isUnsent ? {} : { refusal: refusalOf(clientDialect(run.header), fault.body, fault.meanings) }),
    ...errorFor(run, refused),
  })
}
