/**
 * Reads whether a request wants a receipt.
 */

import { GatewayError } from '@gateway/contracts/errors'
import { RECEIPT_HEADER } from '@gateway/contracts/receipts'
import * as z from 'zod'

const YES = '1'
const WORDS = [YES, '0', ''] as const
export const receiptHeader = z.enum(WORDS)

function isWord(header: string): header is (typeof WORDS)[number] {
  return (WORDS as readonly string[]).includes(header)
}

export function readWantsReceipt(header: string | undefined): boolean {
  if (header === undefined) return false
  if (isWord(header)) return header === YES
  throw new GatewayError('VALIDATION_ERROR', `${RECEIPT_HEADER}: must be 1`, { param: RECEIPT_HEADER })
}
