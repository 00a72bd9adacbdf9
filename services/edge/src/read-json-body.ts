/**
 * Reads a JSON body: of up to 25 MB where a request to a model comes, small ones elsewhere. Anything that is not JSON is
 * refused with what to send instead; the limits hold for what is unpacked, too.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { GatewayError } from '@gateway/contracts/errors'
import { shapeProblem } from './core/json-shape.ts'

const MEGABYTE = 1024 * 1024

const refuseOtherTypes: RequestHandler = (request, _response, next) => {
  const isJson = request.headers['content-type'] === 'application/json' || request.is(['json', '+json']) !== false
  if (!isJson) throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as content-type application/json')
  next()
}

/** In the parser's terms: its error types become the contract's codes. */
const explain: ErrorRequestHandler = (
  error: { type?: string; status?: number; limit?: number } | undefined,
  _request,
  response,
  next,
) => {
  const invalid = (message: string) => next(new GatewayError('VALIDATION_ERROR', message, {}, { cause: error }))
  switch (error?.type) {
    case 'entity.too.large':
      return next(
        new GatewayError('PAYLOAD_TOO_LARGE', `The body is larger than ${sizeOf(error)}`, {}, { cause: error }),
      )
    case 'entity.parse.failed':
      return invalid('body: is not valid JSON')
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return next(new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8 JSON', {}, { cause: error }))
    case 'request.size.invalid':
      return invalid('body: does not have the announced length')
    case 'entity.verify.failed':
      return next(error)
    case 'request.aborted':
      // Its client has left: there is nobody to answer.
      return void response.destroy()
    default:
      // What was packed cannot be unpacked.
      return error?.status === 400 ? invalid('body: cannot be read as its content-encoding says') : next(error)
  }
}

function sizeOf({ limit = 0 }: { limit?: number }): string {
  return limit >= MEGABYTE ? `${limit / MEGABYTE} MB` : `${limit / 1024} KB`
}

/** Bytes of another encoding could hide their shape. */
function verify(_request: IncomingMessage, _response: ServerResponse, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8 JSON')
  const problem = shapeProblem(body)
  if (problem !== null) throw new GatewayError('VALIDATION_ERROR', `body: ${problem}`)
}

const readJsonUpTo = (limit: number) => [refuseOtherTypes, express.json({ limit, type: () => true, verify }), explain]

export const readJsonBody = readJsonUpTo(25 * MEGABYTE)
export const readSmallJsonBody = readJsonUpTo(64 * 1024)
