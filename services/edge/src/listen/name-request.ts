/**
 * Gives every request an id of ours (UUIDv7, never a client's) and every response its `x-request-id`. The same id names
 * the job on the bus, the reservation in the admission store and the row in the ledger.
 */

import { randomFillSync } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Step, StepResponse } from './take-steps.ts'

const BYTES_OF_AN_ID = 16
/** Asking the system for randomness costs the same for one id as for hundreds. */
const pool = new Uint8Array(256 * BYTES_OF_AN_ID)
let used = pool.length

export const nameRequest: Step = (_request, response, next) => {
  const requestId = uuidv7({ random: freshBytes() })
  response.locals['requestId'] = requestId
  response.setHeader('x-request-id', requestId)
  next()
}

export function requestIdOf(response: StepResponse): string {
  return response.locals['requestId'] as string
}

function freshBytes(): Uint8Array {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const begin = used
  used += BYTES_OF_AN_ID
  return pool.subarray(begin, used)
}
