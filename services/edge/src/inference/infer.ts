/**
 * A request to a model: `POST /v1/chat/completions`, `/v1/responses`, `/v1/responses/compact`, `/v1/messages`,
 * `/v1/embeddings` and `/v1/images/generations`.
 *
 * Its steps: authenticate, read, choose the model, admit on a lane, dispatch, relay, settle. With an `Idempotency-Key`, the
 * edge admits only where no other request under that key has run or runs.
 */

import type { GatewayConfig, ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { IDEMPOTENCY_KEY } from '@gateway/contracts/idempotency'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import { partOf, requestAttributes } from '@gateway/telemetry/tracing'
import { failpoint } from '@gateway/service/failpoint'
import type { EdgeSettings } from '../config.ts'
import { admit, type Admitted } from '../admission/admit.ts'
import { countFault, isOutsideOfPlan, type LimitsContext } from '../admission/look-ahead.ts'
import { type Caller, claimKey } from '../auth/authenticate.ts'
import { anthropicHeadersOf } from '../core/anthropic-headers.ts'
import { adviceHeader, noticeHeaders } from '../core/response-headers.ts'
import { inPromptOrder } from '../core/write-body.ts'
import { type LoadShedder, retryAfterMs } from '../http/load-shedder.ts'
import { type MemoryReservation, noteProven, reservationOf } from '../http/memory-budget.ts'
import { type BodyContext, readClaimed } from '../http/read-json-body.ts'
import {
  endpointOf,
  headerOf,
  type Measured,
  measuredOf,
  type Step,
  type StepRequest,
  type StepResponse,
} from '../http/take-steps.ts'
import { type OnceContext, respondOnce } from '../idempotency/respond-once.ts'
import type { Client } from '../relay/client-writer.ts'
import { httpClient, KEEP_ALIVE_AFTER_MS } from '../relay/http-client.ts'
import type { ReceiptKeySource } from '../receipts/receipt-keys.ts'
import type { ReceiptSigner } from '../receipts/sign-receipt.ts'
import { readWantsReceipt } from '../receipts/wanted-receipt.ts'
import { type RelayContext, relayResponse } from '../relay/relay-response.ts'
import type { InferenceKind, InferenceRequest } from '../requests/inference-kinds.ts'
import type { LargeBodies } from '../requests/large-bodies.ts'
import { LargeJson } from '../requests/parse-json.ts'
import { sessionOf } from '../requests/session.ts'
import { TAGS_HEADER, tagsOf } from '../requests/tags.ts'
import { understand, type Understood } from '../requests/understand.ts'
import { timeForHeadersMs, type SdkTimeouts } from './client-timeouts.ts'
import { planJob } from './plan-job.ts'

export interface InferenceContext extends BodyContext, LimitsContext, OnceContext, RelayContext {
  largeBodies: LargeBodies
  shedder: LoadShedder
  receipts: ReceiptKeySource
  settings: Pick<EdgeSettings, 'publicBaseUrl'>
}

/** A request from the time when its body is understood. */
interface Inference {
  caller: Caller
  config: GatewayConfig
  inference: InferenceRequest
  model: ModelConfig
  measured: Measured
  endpoint: string
  reservation: MemoryReservation
  /** A thread read its body, or the event loop did in its place. */
  isLarge: boolean
  wantsReceipt: boolean
  /** For an attempt under an `Idempotency-Key` Infinity: the client's next attempt joins the same response. */
  headersDueAtMs: number
}

/** Each step ends the request with an error, or hands it to the next one. */
export function inferenceSteps(edge: InferenceContext, kind: InferenceKind): Step[] {
  return [authenticate(edge), readClaimed(edge), chooseModel(edge, kind), runOrReplay(edge)]
}

/** Admission proves that the key is alive. */
function authenticate(edge: InferenceContext): Step {
  return async (request, response, next) => {
    response.locals['principal'] = await claimKey(edge, request)
    next()
  }
}

function chooseModel(edge: InferenceContext, kind: InferenceKind): Step {
  return async (request, response, next) => {
    const caller = response.locals['principal'] as Caller
    const config = edge.config.current
    const reservation = reservationOf(response)!
    const measured = measuredOf(response)
    const isLarge = request.body instanceof LargeJson || reservation.isReadAtOnce
    const { inference, model, wantsReceipt } = await understandFor(
      edge,
      caller,
      measured,
      config,
      kind,
      request,
      reservation,
    )
    // `inference` holds all of it that is needed.
    request.body = undefined
    if (inference.dialect === 'messages') Object.assign(inference, anthropicHeadersOf(request.headers))
    inference.session = sessionOf(request.headers, inference.session)
    const { span } = measured
    measured.model = model.id
    if (span.isRecorded)
      span.set({ ...requestAttributes(inference.kind, model.id), 'gateway.stream': inference.stream })
    response.locals['inference'] = {
      caller,
      config,
      inference,
      model,
      measured,
      endpoint: endpointOf(response),
      reservation,
      isLarge,
      wantsReceipt,
      headersDueAtMs: measured.startedAtMs + waitForHeadersMs(request, inference),
    } satisfies Inference
    next()
  }
}

function waitForHeadersMs(request: StepRequest, { stream }: InferenceRequest): number {
  if (headerOf(request, IDEMPOTENCY_HEADER) !== undefined) return Infinity
  return timeForHeadersMs(request.headers as SdkTimeouts, { stream, streamHeadersWithinMs: KEEP_ALIVE_AFTER_MS })
}

function runOrReplay(edge: InferenceContext): Step {
  return async (request, response) => {
    const run = response.locals['inference'] as Inference
    const key = headerOf(request, IDEMPOTENCY_HEADER)
    if (key === undefined) await runRequest(edge, run, clientOf(run, response))
    else await runOnce(edge, run, key, response)
  }
}

function clientOf(
  { inference: { stream, dialect }, measured: { requestId } }: Inference,
  response: StepResponse,
): Client {
  return httpClient(response, { stream, dialect, requestId })
}

function runOnce(edge: InferenceContext, run: Inference, key: string, response: StepResponse): Promise<void> {
  const { caller, inference, wantsReceipt, measured, reservation } = run
  const { requestId } = measured
  const countWrong = (fault: GatewayError) => countFault(edge, caller, requestId, fault)
  const limits = { deadlineMs: MAX_REQUEST_MS, countFault: countWrong }
  const once = { key, caller, requestId, inference, wantsReceipt, ...limits }
  return respondOnce(edge, once, response, (client, claim) =>
    reservation.whileRunning(() => runRequest(edge, run, client, claim)),
  )
}

async function runRequest(edge: InferenceContext, run: Inference, client: Client, claim?: string): Promise<void> {
  refuseWhileUnmetered(edge)
  const receipt = run.wantsReceipt ? await signerOf(edge) : null
  const admitted = await admitTraced(edge, run)
  const { caller, inference, model, endpoint, measured } = run
  const job = planJob(run, admitted, claim)
  const notices = { ...noticeHeaders(model), ...adviceHeader(admitted.lane, inference) }
  const body = inPromptOrder(inference.body, inference.members ?? [])
  const { keyHash } = caller
  const relay = { admitted, notices, job, body, keyHash, deadlineMs: MAX_REQUEST_MS, endpoint, measured, receipt }
  // Dispatches the job, relays its response, settles its charge.
  await relayResponse(edge, relay, client)
}

/** Nor work that it could not sign for, where the client wants a receipt. */
async function signerOf({ receipts, settings }: InferenceContext): Promise<ReceiptSigner> {
  return { key: (await receipts.current()).signing, issuer: settings.publicBaseUrl }
}

/** The edge begins no work that it could not meter. */
function refuseWhileUnmetered(edge: InferenceContext): void {
  if (!edge.bus.durable.isHealthy()) {
    const sentence = 'The gateway cannot meter requests at the moment; try again shortly'
    throw new GatewayError('SERVICE_UNAVAILABLE', sentence, { retryAfterMs: retryAfterMs() })
  }
}

async function admitTraced(edge: InferenceContext, run: Inference): Promise<Admitted> {
  const { config, caller, measured, model, inference, reservation, isLarge } = run
  const admitting = partOf(edge.tracer, measured.span, 'admit')
  try {
    const admitted = await admit(edge, config, caller, measured.requestId, model, inference)
    reservation.provenAs(caller.account, admitted.plan.guest)
    measured.account = caller.account
    reservation.cpu.admitted()
    failpoint('edge.admitted')
    return admitted
  } catch (error) {
    noteCaller(edge, run, error)
    // Another refusal lets the account wait before the edge reads its next large body (`look-ahead.ts`).
    if (isLarge && isOutsideOfPlan(error)) await countFault(edge, caller, measured.requestId, error)
    throw error
  } finally {
    admitting.end()
  }
}

/** The caller of a refused request, where its key has proven to be alive. */
function noteCaller(
  edge: InferenceContext,
  { caller, measured, reservation }: Pick<Inference, 'caller' | 'measured' | 'reservation'>,
  refusal: unknown,
): void {
  if (noteProven(edge, reservation, caller, refusal)) measured.account = caller.account
}

/** Only a caller with a live key learns the fault of its request. */
async function understandFor(
  edge: InferenceContext,
  caller: Caller,
  measured: Measured,
  config: GatewayConfig,
  parse: InferenceKind,
  request: StepRequest,
  reservation: MemoryReservation,
): Promise<Understood & Pick<Inference, 'wantsReceipt'>> {
  const { body } = request
  try {
    const understood =
      body instanceof LargeJson
        ? await edge.largeBodies.understand(config, parse, body, reservation.cpu)
        : reservation.cpu.measure(() => understand(config, parse, body))
    const { inference } = understood
    inference.tags = tagsOf(headerOf(request, TAGS_HEADER), inference.tags)
    return { ...understood, wantsReceipt: readWantsReceipt(headerOf(request, RECEIPT_HEADER)) }
  } catch (error) {
    await countFault(edge, caller, measured.requestId, error)
    noteCaller(edge, { caller, measured, reservation }, error)
    throw error
  }
}

/** From the request to its response's end. */
export const MAX_REQUEST_MS = 600_000
const IDEMPOTENCY_HEADER = IDEMPOTENCY_KEY.toLowerCase()
