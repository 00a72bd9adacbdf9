/**
 * A request with an `Idempotency-Key` runs once. The first to claim the key runs. Requests that come while it runs get its
 * response as it comes. Later ones get the response that was kept.
 *
 * At any moment at most one request runs under a key. A claim is renewed while its edge lives. Another edge takes the claim
 * over only when it has lapsed and its own edge does not respond either. While the store is away nobody can know, so the
 * response is a 503.
 *
 * A claim is made in the account's name, so the key is proven first. That is one look-up more than a request without an
 * `Idempotency-Key` has.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '@gateway/contracts/errors'
import { IDEMPOTENCY_KEY, idempotencyKey } from '@gateway/contracts/idempotency'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { type Claim, type ClaimResult, IdempotencyUnavailableError } from '@gateway/idempotency/port'
import { httpClient, type HttpClient } from '../relay/http-client.ts'
import { type Client, NO_SOURCE } from '../relay/client-writer.ts'
import type { RunningRequests } from '../admission/running-requests.ts'
import { type AuthContext, invalidKey, proveKey, type Caller, type ProvenCaller } from '../auth/authenticate.ts'
import { fingerprintOf, isFingerprintOf, isSameFingerprint, nameOf, type Question } from './response-keys.ts'
import type { InferenceRequest } from '../requests/inference-kinds.ts'
import type { StepResponse } from '../http/take-steps.ts'
import { type FollowContext, followResponse, joinResponse } from './follow-response.ts'
import { type ReplayContext, replayResponse } from './stored-response.ts'
import { type RunClaimedContext, runClaimed } from './run-claimed.ts'
import { CLAIM_LEASE_MS } from './running-responses.ts'

export interface OnceContext extends AuthContext, FollowContext, ReplayContext, RunClaimedContext {
  running: RunningRequests
}

interface OnceRequest {
  /** The header's value. */
  key: string
  caller: Caller
  requestId: string
  inference: InferenceRequest
  wantsReceipt: boolean
  deadlineMs: number
  /** Counts a wrong request among the minute's. Throws where that, or its key, refuses it. */
  countFault(fault: GatewayError): Promise<void>
}

/** One attempt at the request, with the reader that waits for its response. */
interface Attempt {
  claim: Claim
  question: Question
  caller: Caller
  reader: HttpClient
  stream: boolean
  dialect: ClientDialect
  giveUpAtMs: number
  countFault: OnceRequest['countFault']
}

type Found = Exclude<ClaimResult, { kind: 'claimed' }>

/** Resolves when the client has its response or has left. Rejects with the error to send while nothing has been sent. */
export async function respondOnce(
  edge: OnceContext,
  request: OnceRequest,
  response: StepResponse,
  run: (client: Client, claim: string) => Promise<void>,
): Promise<void> {
  const { requestId, inference, caller } = request
  const question = questionOf(inference, request.wantsReceipt)
  const claim = await claimFor(edge, request, question)
  const reader = httpClient(response, { stream: inference.stream, dialect: inference.dialect, requestId })
  // It may be refused before anyone waits for its response.
  reader.ended.catch(() => {})
  reader.listen(NO_SOURCE)
  const giveUpAtMs = performance.now() + request.deadlineMs
  try {
    const { stream, dialect } = inference
    const { countFault } = request
    const attempt = { claim, question, caller, reader, stream, dialect, giveUpAtMs, countFault }
    if (await claimOrRead(edge, attempt)) {
      edge.metrics.idempotent('ran')
      runClaimed(edge, claim, reader, run)
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    reader.fail(error)
  }
  await reader.ended
}

/** Two requests are the same one where these values are equal: all that reach the backend or shape the response. */
function questionOf(
  { kind, dialect, model, stream, includeUsage, encodingFormat, compaction, ...inference }: InferenceRequest,
  wantsReceipt: boolean,
): Question {
  const { anthropicVersion = null, anthropicBeta = null, anthropicHeaders } = inference
  const others =
    anthropicHeaders === undefined
      ? []
      : [Object.entries(anthropicHeaders).toSorted(([one], [other]) => (one < other ? -1 : 1))]
  const ofCompaction = compaction === undefined ? [] : [compaction]
  const ofDialect = dialect === 'chat' ? [] : [dialect, anthropicVersion, anthropicBeta, ...others, ...ofCompaction]
  const ofReceipt = wantsReceipt ? [{ receipt: true }] : []
  const shape = [kind, model, stream, includeUsage, encodingFormat ?? null, ...ofDialect, ...ofReceipt]
  return [JSON.stringify(shape), inference.body]
}

async function claimFor(
  edge: OnceContext,
  { key, caller, requestId, countFault }: OnceRequest,
  question: Question,
): Promise<Claim> {
  if (!idempotencyKey.safeParse(key).success)
    throw await counted(countFault, 'must be 1 to 255 visible ASCII characters')
  const keys = await edge.idempotency.keys.current()
  const fingerprint = fingerprintOf(keys, question)
  return { account: caller.account, name: nameOf(key), requestId, owner: edge.bus.processId, fingerprint }
}

async function counted(countFault: OnceRequest['countFault'], sentence: string): Promise<GatewayError> {
  const fault = new GatewayError('VALIDATION_ERROR', `${IDEMPOTENCY_KEY}: ${sentence}`)
  await countFault(fault)
  return fault
}

/** True: the key is this request's, and it has to run. A client that waits is one that a stopping edge waits for. */
async function claimOrRead(edge: OnceContext, attempt: Attempt): Promise<boolean> {
  const { claim, caller, reader, stream } = attempt
  const { account, requestId } = claim
  edge.running.begin({ account, requestId, keyHash: caller.keyHash, stream, cut: () => reader.cut(invalidKey()) })
  try {
    let after: string | undefined
    for (let round = 0; !reader.isOver(); round++) {
      // The key is proven again for each look: it may die while its request waits.
      const proven = await proveKey(edge, caller)
      const found = await claimKey(edge, claim, after)
      if (found.kind === 'claimed') return await isWanted(edge, attempt)
      if (await readFound(edge, attempt, found, proven)) return false
      if (performance.now() > attempt.giveUpAtMs) throw stillRuns()
      after = found.requestId
      await sleep(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(round, 10)))
    }
    return false
  } finally {
    edge.running.end(requestId)
  }
}

/** False: its client left before anything was begun. */
async function isWanted(edge: OnceContext, { claim, reader }: Attempt): Promise<boolean> {
  if (!reader.isOver()) return true
  await edge.idempotency.store.release(claim).catch(() => {})
  return false
}

const FIRST_PAUSE_MS = 25
const MAX_PAUSE_MS = 250

async function claimKey(edge: OnceContext, claim: Claim, after: string | undefined): Promise<ClaimResult> {
  try {
    return await edge.idempotency.store.claim(claim, {
      leaseMs: CLAIM_LEASE_MS,
      ...(after === undefined ? {} : { after }),
    })
  } catch (cause) {
    if (!(cause instanceof IdempotencyUnavailableError)) throw cause
    const sentence = `${IDEMPOTENCY_KEY}: the gateway cannot tell whether this request has run; try again shortly`
    throw new GatewayError('SERVICE_UNAVAILABLE', sentence, {}, { cause })
  }
}

/** True where the client has been served from the record that was found. */
async function readFound(edge: OnceContext, attempt: Attempt, found: Found, caller: ProvenCaller): Promise<boolean> {
  const { claim, reader } = attempt
  if ((await isSameQuestion(edge, found, attempt)) === false) {
    edge.metrics.idempotent('refused')
    throw await counted(attempt.countFault, 'was used before, with another request')
  }
  const { requestId } = found
  if (found.kind === 'kept') {
    return replayResponse(edge, { account: claim.account, name: claim.name, requestId }, found, caller, reader)
  }
  reader.replays(requestId)
  const isServed = await readRunning(edge, attempt, found)
  if (isServed) edge.metrics.idempotent('joined')
  else reader.replays(null)
  return isServed
}

async function readRunning(
  edge: OnceContext,
  { claim: { account }, reader, stream, dialect }: Attempt,
  { owner, requestId }: Extract<Found, { kind: 'running' }>,
): Promise<boolean> {
  if (owner !== edge.bus.processId) {
    return followResponse(edge, owner, { account, requestId }, reader, stream ? dialect : null)
  }
  const response = edge.idempotency.running.find(requestId)
  return response !== undefined && joinResponse(response, reader)
}

/**
 * Null: nobody can decide any more, because the master secret was replaced. Waiting requests look again and again, so a large
 * question is read only where its fingerprint does not decide.
 */
async function isSameQuestion(
  edge: OnceContext,
  { fingerprint }: Found,
  { claim, question }: Attempt,
): Promise<boolean | null> {
  const { keys } = edge.idempotency
  return (
    isSameFingerprint(fingerprint, claim.fingerprint) ??
    isFingerprintOf(await keys.current(), fingerprint, question) ??
    isFingerprintOf(await keys.refreshed(), fingerprint, question)
  )
}

function stillRuns(): GatewayError {
  const sentence = `${IDEMPOTENCY_KEY}: an earlier attempt still runs and cannot be followed; try again shortly`
  return new GatewayError('SERVICE_UNAVAILABLE', sentence)
}
