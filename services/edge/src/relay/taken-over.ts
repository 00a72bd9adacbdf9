/**
 * The error of a run whose edge stood still for so long that another edge runs the request now.
 */

import { GatewayError } from '@gateway/contracts/errors'

export function takenOver(): GatewayError {
  return new GatewayError(
    'SERVICE_UNAVAILABLE',
    'Another attempt at this request has taken its place; try again shortly',
  )
}
