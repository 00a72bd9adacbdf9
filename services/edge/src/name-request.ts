/**
 * Gives every request an id of ours (UUIDv7, never a client's) and every response its `x-request-id`. The same id names
 * the job on the bus, the reservation in the admission store and the row in the ledger.
 */

import type { RequestHandler, Response } from 'express'
import { v7 as uuidv7 } from 'uuid'

export const nameRequest: RequestHandler = (_request, response, next) => {
  const requestId = uuidv7()
  response.locals['requestId'] = requestId
  response.setHeader('x-request-id', requestId)
  next()
}

export function requestIdOf(response: Response): string {
  return response.locals['requestId'] as string
}
