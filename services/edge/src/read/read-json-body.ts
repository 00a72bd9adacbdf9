/**
 * Reads a JSON body: of up to 25 MB where a request to a model comes, small ones elsewhere. Anything that is not JSON is
 * refused with what to send instead; the limits hold for what is unpacked, too.
 *
 * A request to a model takes room for its body before it is read, and what is read is held against that. A small body of an
 * announced length is read at once, and admission proves its key in the call that admits. For any other, and for small ones
 * while too many of them come with keys that nobody has proven, the key is looked up first: nobody makes the edge read and
 * unpack megabytes with a key that only looks like one.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import { GatewayError } from '@gateway/contracts/errors'
import { exactInteger, parseExactly, readShape, type JsonShape } from '@gateway/contracts/json'
import { findPlan } from '@gateway/contracts/models'
import { claimKey, proveKey, type Caller, type ProvenCaller } from '../credentials/authenticate.ts'
import type { Edge } from '../edge.ts'
import { holdOf, LARGEST_BODY_BYTES, type Hold } from './bytes-in-flight.ts'
import type { Next, Step, StepRequest, StepResponse } from '../listen/take-steps.ts'

const MEGABYTE = 1024 * 1024
const JSON_TYPE = 'application/json'
/** Up to this size a body is read before its sender's key is looked up. */
const SMALL_BODY_BYTES = 64 * 1024
/** The bytes that Node reads of a body before anybody asks for it. */
const READ_AHEAD_BYTES = 64 * 1024

/** For inference, whose caller is not proven. Only a caller with a live key learns the fault of its body. */
export function readClaimed(edge: Edge): Step {
  return async (request, response, next) => {
    const caller = response.locals['principal'] as Caller
    await makeRoom(edge, request, response, caller)
    const refuse = (fault: unknown) => proveKey(edge, caller).then(() => next(fault), next)
    try {
      void readJsonBody(request, response, (fault) => void (fault === undefined ? next() : refuse(fault)))
    } catch (fault) {
      void refuse(fault)
    }
  }
}

/** For routes that prove the key of every body, whatever its size. */
export async function proveAndMakeRoom(
  edge: Edge,
  request: IncomingMessage,
  response: StepResponse,
): Promise<ProvenCaller> {
  return proveFirst(edge, request, edge.bytes.hold(request, response), await claimKey(edge, request))
}

async function makeRoom(edge: Edge, request: IncomingMessage, response: StepResponse, caller: Caller): Promise<void> {
  const hold = edge.bytes.hold(request, response)
  const { 'content-length': length, 'content-encoding': encoding } = request.headers
  const isSmall = encoding === undefined && Number(length) <= SMALL_BODY_BYTES
  if (!isSmall || !hold.takeUnproven(Number(length))) await proveFirst(edge, request, hold, caller)
}

async function proveFirst(edge: Edge, request: IncomingMessage, hold: Hold, caller: Caller): Promise<ProvenCaller> {
  const { 'content-length': length } = request.headers
  const readAhead = Math.min(READ_AHEAD_BYTES, Number(length ?? READ_AHEAD_BYTES))
  const proven = await hold.whileProving(readAhead, () => proveKey(edge, caller))
  hold.takeProven(proven.account, findPlan(edge.config.current, proven.plan).guest, bytesToTake(request))
  return proven
}

/** One that counts itself begins with nothing; what the others may unpack to is known at their end only. */
function bytesToTake(request: IncomingMessage): number {
  const { 'content-length': length, 'content-encoding': encoding, 'transfer-encoding': transfer } = request.headers
  if (countsItself(request) || (length === undefined && transfer === undefined)) return 0
  if (length === undefined || encoding !== undefined) return LARGEST_BODY_BYTES
  // A longer one is refused unread.
  return Number(length) <= LARGEST_BODY_BYTES ? Number(length) : 0
}

interface ParserError {
  type?: string
  status?: number
  limit?: number
}

/** In the parser's terms: its error types become the contract's codes. Null: nobody is there to be told. */
function explain(error: ParserError): unknown {
  const invalid = (message: string) => new GatewayError('VALIDATION_ERROR', message, {}, { cause: error })
  switch (error.type) {
    case 'entity.too.large':
      return tooLarge(error)
    case 'entity.parse.failed':
      return notJson(error)
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8 JSON', {}, { cause: error })
    case 'request.size.invalid':
      return invalid('body: does not have the announced length')
    case 'request.aborted':
      return null
    case 'entity.verify.failed':
      return error
    default:
      // What was packed cannot be unpacked.
      return error.status === 400 ? invalid('body: cannot be read as its content-encoding says') : error
  }
}

function tooLarge(cause: { limit?: number }): GatewayError {
  return new GatewayError('PAYLOAD_TOO_LARGE', `The body is larger than ${sizeOf(cause)}`, {}, { cause })
}

function notJson(cause?: unknown): GatewayError {
  return new GatewayError('VALIDATION_ERROR', 'body: is not valid JSON', {}, { cause })
}

function sizeOf({ limit = 0 }: { limit?: number }): string {
  return limit >= MEGABYTE ? `${limit / MEGABYTE} MB` : `${limit / 1024} KB`
}

/** Bytes of another encoding could hide their shape. */
function verify(_request: IncomingMessage, response: ServerResponse, body: Buffer, encoding: string): void {
  // Until here the budget held the largest size that it may unpack to.
  holdOf(response as StepResponse)?.bodyIs(body.length)
  if (encoding !== 'utf-8') throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8 JSON')
  takeShape(body)
}

function takeShape(body: Buffer): JsonShape {
  const shape = readShape(body)
  if (shape.problem !== null) throw new GatewayError('VALIDATION_ERROR', `body: ${shape.problem}`)
  return shape
}

/** UTF-8 JSON as it is. Anything out of the ordinary is the library's. */
const ORDINARY_TYPE = /^application\/json(?:; ?charset="?utf-8"?)?$/i

/** Most bodies are as they are, and need nothing of all that the library prepares for. */
function isOrdinary({ headers }: IncomingMessage, mostBytes: number): boolean {
  const { 'content-type': type = '', 'content-length': length } = headers
  if (headers['content-encoding'] !== undefined || (type !== JSON_TYPE && !ORDINARY_TYPE.test(type))) return false
  return length === undefined
    ? headers['transfer-encoding'] !== undefined
    : length !== '0' && Number(length) <= mostBytes
}

/** In chunks, of no announced length, each of which is counted as it comes. */
function countsItself(request: IncomingMessage): boolean {
  return request.headers['content-length'] === undefined && isOrdinary(request, LARGEST_BODY_BYTES)
}

function readOrdinary(request: StepRequest, response: StepResponse, next: Next, limit: number): void {
  const grow = countsItself(request) ? holdOf(response) : undefined
  let pieces: Buffer[] = []
  let bytes = 0
  let isRefused = false
  const refuse = (error: GatewayError) => {
    isRefused = true
    pieces = []
    next(error)
  }
  request.on('data', (piece: Buffer) => {
    if (isRefused) return
    bytes += piece.length
    if (bytes > limit) return refuse(tooLarge({ limit }))
    const refusal = grow?.bodyIs(bytes)
    if (refusal) return refuse(refusal)
    pieces.push(piece)
  })
  request.on('end', () => {
    if (isRefused) return
    try {
      request.body = bytes === 0 ? {} : parseBytes(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
    } catch (error) {
      return next(error)
    }
    pieces = []
    next()
  })
  request.on('close', () => {
    if (!request.complete && !isRefused) response.destroy()
  })
}

function parseBytes(bytes: Buffer): object {
  const { mayHoldLongIntegers } = takeShape(bytes)
  let body: unknown
  try {
    body = parseExactly(withoutMark(bytes.toString()), mayHoldLongIntegers)
  } catch (cause) {
    throw notJson(cause)
  }
  if (typeof body !== 'object' || body === null) throw notJson()
  return body
}

/** Some editors begin a text with its byte order mark. */
function withoutMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

function refuseOtherTypes({ headers }: IncomingMessage): void {
  const { 'content-type': type = '', 'content-length': length, 'transfer-encoding': encoding } = headers
  // A client without a body may say so with a length of 0, and has no type to name.
  const hasBody = (length !== undefined && length !== '0') || encoding !== undefined
  const mediaType = type.split(';', 1)[0]!.trim().toLowerCase()
  if (!hasBody || mediaType === JSON_TYPE || mediaType.endsWith('+json')) return
  throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', `Send the body as content-type ${JSON_TYPE}`)
}

const readJsonUpTo = (limit: number): Step => {
  const readAny = express.json({ limit, type: () => true, verify, reviver: exactInteger })
  return (request, response, next) => {
    if (isOrdinary(request, limit)) {
      goAhead(request, response)
      return readOrdinary(request, response, next, limit)
    }
    refuseOtherTypes(request)
    // The edge refuses a body unread that is announced as too large.
    if (!(Number(request.headers['content-length']) > limit)) goAhead(request, response)
    readAny(request, response, (error?: ParserError) => {
      if (error === undefined) return next()
      const explained = explain(error)
      if (explained) next(explained)
      // Its client has left: there is nobody to answer.
      else response.destroy()
    })
  }
}

/** Some clients wait with a large body until they are told that it is wanted. */
function goAhead({ headers, httpVersion }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect !== undefined && httpVersion === '1.1') response.writeContinue()
}

export const readJsonBody = readJsonUpTo(LARGEST_BODY_BYTES)
export const readSmallJsonBody = readJsonUpTo(64 * 1024)
