/**
 * Reads a JSON body: of up to 25 MB in a request to a model, small ones elsewhere; one call takes YAML. It refuses any other form, and
 * the error names one that it accepts. The limits hold for the unpacked body, too.
 *
 * A request to a model reserves memory for its body before it is read, and the bytes read count against that. A small body of
 * an announced length is read at once, and admission proves its key in the call that admits. So is a coding tool's request, where
 * its key names an account that the edge has served. The edge looks the key up first for any other body, and for those while too
 * many come with unproven keys. So nobody makes the edge read and unpack megabytes with a key that only looks like one.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { GatewayError } from '@gateway/contracts/errors'
import { IDEMPOTENCY_KEY } from '@gateway/contracts/idempotency'
import { findPlan } from '@gateway/contracts/models'
import { claimKey, proveKey, type Caller, type ProvenCaller, namesKnownAccount } from '../auth/authenticate.ts'
import { rateLimited } from '../core/rate-limited.ts'
import { type MinuteBuckets, takeOne } from '../core/minute-buckets.ts'
import { countFault, type LimitsContext, lookAtLimits } from '../admission/look-ahead.ts'
import {
  type BytesInFlight,
  reservationOf,
  LARGEST_BODY_BYTES,
  noteProven,
  type MemoryReservation,
} from './memory-budget.ts'
import { type BodyForm, JSON_FORM, refuseOtherTypes, SIGNED_FORM, unsupported, YAML_FORM } from './body-forms.ts'
import { BodyBytes, invalid, LargeJson, MOST_AT_ONCE_BYTES, SMALL_BODY_BYTES } from '../requests/parse-json.ts'
import { measuredOf, type Next, type Step, type StepRequest, type StepResponse } from './take-steps.ts'

const MEGABYTE = 1024 * 1024
const IDEMPOTENCY_HEADER = IDEMPOTENCY_KEY.toLowerCase()
/** The bytes that Node reads of a body before anybody reads from it. */
const READ_AHEAD_BYTES = 64 * 1024

export interface BodyContext extends LimitsContext {
  bytes: BytesInFlight
  /** Counts of tokens and quotes. */
  asides: MinuteBuckets
}

/** For inference, whose caller is not proven. Only a caller with a live key learns the fault of its body. */
export function readClaimed(edge: BodyContext): Step {
  return async (request, response, next) => {
    const caller = response.locals['principal'] as Caller
    await reserveBody(edge, request, response, caller)
    const { requestId } = measuredOf(response)
    const reservation = reservationOf(response)!
    const refuse = async (fault: unknown) => {
      try {
        await countFault(edge, caller, requestId, fault)
        noteProven(edge, reservation, caller, fault)
        next(fault)
      } catch (error) {
        noteProven(edge, reservation, caller, error)
        next(error)
      }
    }
    try {
      void readBodyOrBytes(request, response, (fault) => void (fault === undefined ? next() : refuse(fault)))
    } catch (fault) {
      void refuse(fault)
    }
  }
}

/**
 * For requests that the edge serves without a backend. They have a rate of their own, and prove the key of every body, of any
 * size.
 */
export async function proveAndReserve(
  edge: BodyContext,
  request: IncomingMessage,
  response: StepResponse,
): Promise<ProvenCaller> {
  const caller = await claimKey(edge, request)
  const reservation = edge.bytes.reserveRequest(request, response)
  return proveFirst(edge, request, reservation, caller, async () => {
    const proven = await proveKey(edge, caller)
    const { rpm } = findPlan(edge.config.current, proven.plan)
    const waitMs = takeOne(edge.asides, proven.account, rpm, performance.now())
    if (waitMs > 0) throw rateLimited('requests', waitMs)
    reservation.cpu.chargeServed()
    return proven
  })
}

async function reserveBody(
  edge: BodyContext,
  request: IncomingMessage,
  response: StepResponse,
  caller: Caller,
): Promise<void> {
  const reservation = edge.bytes.reserveRequest(request, response)
  const { 'content-length': length } = request.headers
  const announced = packingOf(request) === null ? Number(length) : NaN
  const isSmall = announced <= SMALL_BODY_BYTES
  // A stranger at the same address may have used up its share: no matter of an account that this edge has served.
  const isOverShare = reservation.cpu.isOverShare()
  if (isOverShare) reservation.isOfKnownAccount = namesKnownAccount(edge, request)
  const mayRead = !isOverShare || reservation.isOfKnownAccount
  if (isSmall && mayRead && reservation.takeUnproven(announced)) return
  if (!isSmall && !isOverShare && announced <= MOST_AT_ONCE_BYTES && isServedAccount(edge, caller)) {
    reservation.isReadAtOnce =
      reservation.cpu.workInsteadOfThread(caller.account) && reservation.takeUnproven(announced)
    if (reservation.isReadAtOnce) return
  }
  await proveFirst(edge, request, reservation, caller, async () => {
    // A response that is kept under the key costs nothing, and passes limits that are used up.
    if (request.headers[IDEMPOTENCY_HEADER] !== undefined) return proveKey(edge, caller)
    const bytes = Number(length ?? SMALL_BODY_BYTES)
    return { ...caller, plan: await lookAtLimits(edge, caller, measuredOf(response).requestId, bytes) }
  })
}

/** Anybody may become a guest, so guests' bodies are read behind their limits. */
function isServedAccount(edge: BodyContext, { account }: Caller): boolean {
  const served = edge.plans.planOf(account)
  return edge.config.current.plans.find(({ slug }) => slug === served)?.guest === false
}

async function proveFirst<Proven extends { account: string; plan: string }>(
  edge: BodyContext,
  request: IncomingMessage,
  reservation: MemoryReservation,
  caller: Caller,
  prove: () => Promise<Proven>,
): Promise<Proven> {
  const { 'content-length': length } = request.headers
  const readAhead = Math.min(READ_AHEAD_BYTES, Number(length ?? READ_AHEAD_BYTES))
  try {
    const proven = await reservation.whileProving(readAhead, prove)
    const { guest } = findPlan(edge.config.current, proven.plan)
    reservation.provenAs(proven.account, guest)
    await reservation.cpu.waitForShare(length === undefined ? 0 : Math.min(Number(length), LARGEST_BODY_BYTES))
    reservation.takeProven(proven.account, guest, bytesToTake(request))
    return proven
  } catch (error) {
    noteProven(edge, reservation, caller, error)
    reservation.cpu.refuseAnnounced()
    // The edge drops the bytes that Node has read, and counts more as they come. A client that waits for `100 Continue` sends
    // none.
    if (!waitsForContinue(request)) reservation.cpu.chargeDropped(readAhead)
    throw error
  }
}

/** A body that counts itself begins with nothing. The unpacked size of the others is known at their end only. */
function bytesToTake(request: IncomingMessage): number {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers
  if (countsItself(request) || (length === undefined && transfer === undefined)) return 0
  if (length === undefined || packingOf(request) !== null) return LARGEST_BODY_BYTES
  // A longer one is refused unread.
  return Number(length) <= LARGEST_BODY_BYTES ? Number(length) : 0
}

/** In chunks, of no announced length, each of which is counted as it comes. */
function countsItself(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers
  return length === undefined && transfer !== undefined && packingOf(request) === null
}

/** Null: the body comes as it is. */
function packingOf({ headers }: IncomingMessage): string | null {
  const encoding = headers['content-encoding']?.toLowerCase() ?? ''
  return encoding === '' || encoding === 'identity' ? null : encoding
}

/** `isLarge`: the body stays bytes ({@link LargeJson}). */
const readUpTo = (limit: number, isLarge: IsLarge = () => false, form = JSON_FORM): Step => {
  return (request, response, next) => {
    const { 'content-length': length, 'transfer-encoding': transfer } = request.headers
    if (length === undefined && transfer === undefined) return next()
    // A client without a body may say so with a length of 0, and has no type to name.
    if (length !== '0') refuseOtherTypes(request, form)
    const openUnpacker = unpackerFor(packingOf(request))
    if (Number(length) > limit) return next(tooLarge(limit))
    goAhead(request, response)
    readBody(request, response, next, { limit, isLarge, form, unpacker: openUnpacker() })
  }
}

function goAhead(request: IncomingMessage, response: ServerResponse): void {
  if (waitsForContinue(request)) response.writeContinue()
}

/** Some clients hold a large body back until `100 Continue` comes. HTTP/1.0 has no such response. */
function waitsForContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1'
}

function readBody(
  request: StepRequest,
  response: StepResponse,
  next: Next,
  { limit, isLarge, form, unpacker }: { limit: number; isLarge: IsLarge; form: BodyForm; unpacker: Transform | null },
): void {
  const grow = countsItself(request) ? reservationOf(response) : undefined
  const { 'content-length': length } = request.headers
  // Unpacked it may be longer than it was announced.
  let body: BodyBytes | null = new BodyBytes(unpacker || length === undefined ? null : Number(length))
  let bytes = 0
  let isOver = false
  /** Where bytes still come, the edge reads none of them before it has refused the request (`drop-body.ts`). */
  const over = (error?: unknown) => {
    if (isOver) return
    isOver = true
    body = null
    if (unpacker) {
      request.unpipe(unpacker)
      unpacker.destroy()
    }
    if (error === undefined) request.resume()
    else request.pause()
    next(error)
  }
  const source = unpacker ? request.pipe(unpacker) : request
  source.on('data', (piece: Buffer) => {
    if (body === null) return
    bytes += piece.length
    if (bytes > limit) return over(tooLarge(limit))
    const refusal = grow?.bodyIs(bytes)
    if (refusal) return over(refusal)
    body.add(piece)
  })
  source.on('end', () => {
    if (body === null) return
    // Until here the budget held the largest size that it may unpack to.
    if (unpacker) reservationOf(response)?.bodyIs(bytes)
    reservationOf(response)?.cpu.chargeRead(bytes)
    try {
      request.body = isLarge(bytes, response) ? new LargeJson(body.own()) : parsed(body, form, response)
    } catch (error) {
      return over(error)
    }
    over()
  })
  unpacker?.on('error', (cause) => over(invalid('body: cannot be read as its content-encoding says', cause)))
  request.on('close', () => {
    if (request.complete || isOver) return
    // Its client has left: nobody reads a response.
    response.destroy()
    unpacker?.destroy()
  })
}

type IsLarge = (bytes: number, response: StepResponse) => boolean

function parsed(body: BodyBytes, form: BodyForm, response: StepResponse): unknown {
  const parse = () => form.parse(body)
  return reservationOf(response)?.cpu.measure(parse) ?? parse()
}

const UNPACKERS = new Map<string, () => Transform>([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', createZstdDecompress],
])

/** Opens it later: an unpacker holds memory, and a body may yet be refused unread. */
function unpackerFor(packing: string | null): () => Transform | null {
  if (packing === null) return () => null
  const open = UNPACKERS.get(packing)
  if (!open) throw unsupported('UTF-8 JSON')
  return open
}

function tooLarge(limit: number): GatewayError {
  const size = limit >= MEGABYTE ? `${limit / MEGABYTE} MB` : `${limit / 1024} KB`
  return new GatewayError('PAYLOAD_TOO_LARGE', `The body is larger than ${size}`)
}

export const readJsonBody = readUpTo(LARGEST_BODY_BYTES)
/**
 * For handlers that can read a {@link LargeJson}, too. A body stays bytes where parsing it would take the others' time, or
 * where its sender has taken its share.
 */
export const readBodyOrBytes = readUpTo(LARGEST_BODY_BYTES, (bytes, response) => {
  const { cpu, isOfKnownAccount, isReadAtOnce } = reservationOf(response)!
  const isLarge = bytes > SMALL_BODY_BYTES && !isReadAtOnce
  return isLarge || (bytes > 0 && !isOfKnownAccount && cpu.isOverShare())
})
export const readSmallJsonBody = readUpTo(64 * 1024)
/** Its sender is not proven yet. */
export const readSignedBody = readUpTo(4 * 1024, undefined, SIGNED_FORM)
/** A config of a thousand backends. */
export const readYamlBody = readUpTo(512 * 1024, undefined, YAML_FORM)
