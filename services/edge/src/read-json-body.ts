/**
 * Reads a JSON body of up to 25 MB. Anything that is not JSON is refused with what to send instead.
 */

import express, { type ErrorRequestHandler, type RequestHandler } from 'express'
import { GatewayError } from '@gateway/contracts/errors'

const MAX_BODY = '25mb'

const refuseOtherTypes: RequestHandler = (request, _response, next) => {
  const isJson = request.headers['content-type'] === 'application/json' || request.is(['json', '+json']) !== false
  if (!isJson) throw new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as content-type application/json')
  next()
}

/** In the parser's terms: its error types become the contract's codes. */
const explain: ErrorRequestHandler = (error: { type?: string } | undefined, _request, _response, next) => {
  switch (error?.type) {
    case 'entity.too.large':
      return next(new GatewayError('PAYLOAD_TOO_LARGE', 'The body is larger than 25 MB', {}, { cause: error }))
    case 'entity.parse.failed':
      return next(new GatewayError('VALIDATION_ERROR', 'body: is not valid JSON', {}, { cause: error }))
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return next(new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as UTF-8 JSON', {}, { cause: error }))
    case 'request.size.invalid':
      return next(
        new GatewayError('VALIDATION_ERROR', 'body: does not have the announced length', {}, { cause: error }),
      )
    default:
      return next(error)
  }
}

export const readJsonBody = [refuseOtherTypes, express.json({ limit: MAX_BODY, type: () => true }), explain]
