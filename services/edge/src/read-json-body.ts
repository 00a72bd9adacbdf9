/**
 * Reads a JSON body: of up to 25 MB where a request to a model comes, small ones elsewhere. Anything that is not JSON is
 * refused with what to send instead; the limits hold for what is unpacked, too.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import express from 'express'
import { GatewayError } from '@gateway/contracts/errors'
import { shapeProblem } from './core/json-shape.ts'
import type { Next, Step, StepRequest, StepResponse } from './walk.ts'

const MEGABYTE = 1024 * 1024
const JSON_TYPE = 'application/json'

/** Most bodies are small, of an announced length and as they are: all that the library prepares for is not needed. */
const SMALL_BYTES = 256 * 1024

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
      return new GatewayError('PAYLOAD_TOO_LARGE', `The body is larger than ${sizeOf(error)}`, {}, { cause: error })
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

function notJson(cause?: unknown): GatewayError {
  return new GatewayError('VALIDATION_ERROR', 'body: is not valid JSON', {}, { cause })
}

function sizeOf({ limit = 0 }: { limit?: number }): string {
  return limit >= MEGABYTE ? `${limit / MEGABYTE} MB` : `${limit / 1024} KB`
}

/** Bytes of another encoding could hide their shape. */
function verify(_request: IncomingMessage, _response: ServerResponse, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8 JSON')
  refuseShape(body)
}

function refuseShape(body: Buffer): void {
  const problem = shapeProblem(body)
  if (problem !== null) throw new GatewayError('VALIDATION_ERROR', `body: ${problem}`)
}

/** One that can be read whole without asking what it is. Anything out of the ordinary is the library's. */
function isOrdinary({ headers }: IncomingMessage, mostBytes: number): boolean {
  const length = Number(headers['content-length'])
  const isSmall = length > 0 && length <= mostBytes
  return isSmall && headers['content-type'] === JSON_TYPE && headers['content-encoding'] === undefined
}

function readOrdinary(request: StepRequest, response: StepResponse, next: Next): void {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    try {
      request.body = parseBytes(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces))
    } catch (error) {
      return next(error)
    }
    next()
  })
  request.on('close', () => {
    if (!request.complete) response.destroy()
  })
}

function parseBytes(bytes: Buffer): object {
  refuseShape(bytes)
  let body: unknown
  try {
    body = JSON.parse(withoutMark(bytes.toString()))
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
  const readAny = express.json({ limit, type: () => true, verify })
  return (request, response, next) => {
    if (isOrdinary(request, Math.min(limit, SMALL_BYTES))) return readOrdinary(request, response, next)
    refuseOtherTypes(request)
    readAny(request, response, (error?: ParserError) => {
      if (error === undefined) return next()
      const explained = explain(error)
      if (explained) next(explained)
      // Its client has left: there is nobody to answer.
      else response.destroy()
    })
  }
}

export const readJsonBody = readJsonUpTo(25 * MEGABYTE)
export const readSmallJsonBody = readJsonUpTo(64 * 1024)
