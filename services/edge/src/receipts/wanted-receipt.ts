/**
 * Reads whether a request wants a receipt.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'

export function readWantsReceipt(header: string | undefined): boolean {
  if (header === undefined || header === '' || header === '0') return false
  if (header === '1') return true
  throw new GatewayError('VALIDATION_ERROR', `${RECEIPT_HEADER}: must be 1`, { param: RECEIPT_HEADER })
}
