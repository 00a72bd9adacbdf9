/**
 * Refuses requests that a proxy in front could have read differently (`core/ambiguity.ts`), and closes their connection:
 * what comes behind them may not be what its sender meant.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { ambiguityOf } from '../core/ambiguity.ts'
import type { Step } from './take-steps.ts'

export const refuseAmbiguous: Step = (request, response, next) => {
  const { httpVersion, url = '', headers, rawHeaders } = request
  const transferEncoding = headers['transfer-encoding']
  const ambiguity = ambiguityOf({ httpVersion, url, host: headers.host, transferEncoding, rawHeaders })
  if (ambiguity === null) return next()
  response.setHeader('connection', 'close')
  throw new GatewayError('VALIDATION_ERROR', ambiguity)
}
