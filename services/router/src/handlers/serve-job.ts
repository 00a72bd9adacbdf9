/**
 * One job from the bus, from taking it to its last frame.
 *
 * A job has one last word, end or failure, also when its caller has left. Then the router stops the backend at once,
 * and the last word reports the cost. The edge is responsible for the request from its acknowledgement of that word on.
 * If the edge is lost before, this router reports the cost.
 */

import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJson, encodeJson } from '@gateway/rpc/json'
import type { IncomingJob, JobAborted, JobOver } from '@gateway/bus/port'
import { jobHeader, type ResponseFailure, type JobHeader } from '@gateway/contracts/job'
import { NO_SPAN, requestFields, type Span } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import { BackendFault } from '../core/backend-fault.ts'
import type { Body } from '../core/failed-bodies.ts'
import { readEmbeddingsRequest, withTexts } from '../core/embeddings-request.ts'
import { capableTargets, hasFreeSlotAt, type TargetPool } from '../backend-registry.ts'
import type { RouterContext } from '../router-context.ts'
import { failOver } from './fail-over.ts'
import { abandon, failureOf, billableResponse, type BoundJob, type JobContext } from '../job-context.ts'

export function serveJob(router: RouterContext, job: IncomingJob): void {
  const receivedAtMs = performance.now()
  const header = readHeader(job, router)
  if (!header) return
  const pool = router.backendRegistry.pool(header.pool)
  if (router.draining) return job.reject('draining')
  if (!pool) return job.reject('no_pool')
  if (isForOthers(pool, header)) return job.reject('no_place')
  if (!router.subscriptions.takes()) return job.reject('busy')

  job.accept(isToBeKnown(job, header))
  failpoint('router.job-accepted')
  const run = openRun(job, header, pool, receivedAtMs, router)
  const entry = router.jobs.join(run)
  job.onAbort((aborted) => onAbort(run, aborted, router))
  job.onOver((how) => onOver(run, how, router))
  run.done = respond(run, pool, router)
    .catch((error: unknown) => router.logger.error({ err: error }, 'a job could not be closed'))
    .finally(() => {
      run.span.end()
      entry.leave()
    })
}

/** A body that is long enough to block a router, where one of its readers had a defect. */
const LONG_BODY_BYTES = 8 * 1024

/** A job that blocks router after router is given up, provided that its edge knows who has it. */
function isToBeKnown({ bodyBytes }: IncomingJob, { attempt }: JobHeader): boolean {
  return attempt > 1 || bodyBytes >= LONG_BODY_BYTES
}

async function respond(run: JobContext, pool: TargetPool, router: RouterContext): Promise<void> {
  const { job, header } = run
  try {
    const outcome = await failOver(await readBody(run, router), pool, router)
    if ('code' in outcome) job.failure(encodeJson(outcome))
    else job.end(encodeJson(outcome))
    failpoint('router.response-ended')
    if ('code' in outcome) run.span.fail(outcome.code)
    router.metrics.job(pool.id, 'code' in outcome ? outcome.code : 'served')
  } catch (error) {
    run.span.fail(job.aborted ? 'aborted' : 'INTERNAL_ERROR')
    if (job.aborted) return job.failure(encodeJson(await lastWord(run, 'SERVICE_UNAVAILABLE', 'Nobody waited')))
    router.logger.error(
      { ...requestFields(header.requestId, header.traceparent), err: error },
      'a job failed unexpectedly',
    )
    job.failure(encodeJson(await lastWord(run, 'INTERNAL_ERROR', 'The router failed')))
  }
}

/** Backends could do it, but this router has no slot at any of them: another one has. */
function isForOthers(pool: TargetPool, header: JobHeader): boolean {
  const capable = capableTargets(pool, header)
  return capable.length > 0 && !capable.some(({ backend }) => hasFreeSlotAt(backend))
}

function readHeader(job: IncomingJob, router: RouterContext): JobHeader | null {
  try {
    return jobHeader.parse(decodeJson(job.header))
  } catch (error) {
    router.logger.error(
      { err: error, caller: job.callerId },
      'a job has no readable header: update routers before edges',
    )
    job.accept()
    const failure: ResponseFailure = {
      code: 'INTERNAL_ERROR',
      message: 'The job is not readable',
      attempted: [],
      attempts: [],
    }
    job.failure(encodeJson(failure))
    return null
  }
}

function beginSpan({ tracer }: RouterContext, { requestId, pool, attempt, traceparent }: JobHeader): Span {
  if (!tracer.isOn) return NO_SPAN
  const attributes = { 'gateway.request_id': requestId, 'gateway.pool': pool, 'gateway.dispatch': attempt }
  return tracer.start(`serve ${pool}`, { kind: 'consumer', parent: traceparent, attributes })
}

function openRun(
  job: IncomingJob,
  header: JobHeader,
  pool: TargetPool,
  receivedAtMs: number,
  router: RouterContext,
): JobContext {
  return {
    job,
    header,
    affinityKey: pool.affinity === 'conversation' ? header.affinityKey : undefined,
    deadlineAtMs: receivedAtMs + header.remainingMs,
    headDueAtMs: receivedAtMs + Math.min(header.remainingMs, header.headWithinMs ?? Infinity),
    span: beginSpan(router, header),
    states: router.stateSecrets.sealFor(header.account),
    attempts: [],
    backendMs: 0,
    call: null,
    delivered: null,
    abandoned: null,
    cutOff: null,
    done: Promise.resolve(),
  }
}

async function readBody(run: JobContext, { tokens }: RouterContext): Promise<BoundJob> {
  const bytes = await run.job.body()
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (run.header.kind !== 'embeddings') return Object.assign(run, { body, bodyKey: bodyOf(body), inputs: 0 })
  const { tokens: inputTokens, ...request } = readEmbeddingsRequest(body)
  const texts = inputTokens ? withTexts(request.body, await tokens.textsOf(inputTokens)) : request.body
  return Object.assign(run, { body: texts, bodyKey: bodyOf(body), inputs: request.inputs })
}

function bodyOf(bytes: Buffer): Body {
  let digest: string | undefined
  return { bytes: bytes.length, digest: () => (digest ??= hash('sha256', bytes, 'base64')) }
}

function onAbort(run: JobContext, aborted: JobAborted, { metrics }: RouterContext): void {
  abandon(run, aborted)
  metrics.job(run.header.pool, aborted.abortCause === 'stopped' ? 'client_gone' : 'edge_lost')
}

/** An edge that lives settles the request, even if it has forgotten the stream. */
function onOver(run: JobContext, how: JobOver, { reports }: RouterContext): void {
  const lost = how === 'caller_lost' ? billableResponse(run) : null
  if (lost) reports.report(run, lost)
}

/** A failure, with the usage that the client pays for all the same. */
async function lastWord(run: JobContext, code: ResponseFailure['code'], message: string): Promise<ResponseFailure> {
  const usage = await billableResponse(run)?.usage()
  return failureOf(run, code, message, usage ? { usage } : {})
}

/** After the time to finish, jobs get this long to send their failure. */
const FAREWELL_MS = 2_000
/** In that time a tokenizer counts their responses this long. */
const COUNTED_WITHIN_MS = 1_000

/** Lets the jobs under way finish, and ends those that take longer. */
export async function finishJobs(router: RouterContext, drainMs: number): Promise<void> {
  const allDone = () => Promise.all([...router.jobs].map(({ done }) => done))
  const timer = new AbortController()
  const expiry = sleep(drainMs, 'expired' as const, { signal: timer.signal }).catch(() => 'done' as const)
  const end = await Promise.race([allDone(), expiry])
  timer.abort()
  if (end !== 'expired') return
  router.expired = true
  for (const run of router.jobs) run.call?.exchange.abort(new BackendFault('out_of_time', 'the router is stopping'))
  router.limiter.wakeAll()
  const farewell = Promise.race([allDone(), sleep(FAREWELL_MS, undefined, { ref: false })])
  await Promise.race([farewell, sleep(COUNTED_WITHIN_MS, undefined, { ref: false })])
  // A failure that still waits for its count would come after the bus has been flushed: its length gives the count.
  await router.tokens.close()
  await farewell
}
