/**
 * Signs the charge of a request, by the figures of its row in the ledger. The signature of the same claims is the same on each edge.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { RECEIPT_TYPE, type ReceiptClaims } from '@gateway/contracts/receipts'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { chargeFor, writeInPlanUnit } from '@gateway/pricing/charge'
import { CompactSign } from 'jose'
import type { SigningKey } from './receipt-keys.ts'

export interface ReceiptSigner {
  key: SigningKey
  issuer: string
}

export function signReceipt(
  { key, issuer }: ReceiptSigner,
  event: UsageEvent,
  content: ReceiptClaims['content'],
): Promise<string> {
  return new CompactSign(Buffer.from(JSON.stringify(claimsOf(issuer, event, content))))
    .setProtectedHeader({ alg: 'EdDSA', kid: key.id, typ: RECEIPT_TYPE })
    .sign(key.privateKey)
}

export function claimsOf(
  issuer: string,
  { requestId, endedAtMs, account, lane, usage, price }: UsageEvent,
  content: ReceiptClaims['content'],
): ReceiptClaims {
  const { promptTokens, completionTokens, cachedTokens, estimated } = usage
  const unit = price.kind === 'multiplier' ? 'tokens' : 'usd'
  return {
    iss: issuer,
    jti: requestId,
    iat: Math.floor(endedAtMs / 1_000),
    account: `${PROJECT_PREFIX}${account}`,
    model: lane,
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      cached_tokens: cachedTokens,
      estimated,
    },
    charge: { amount: writeInPlanUnit(chargeFor(price, usage), unit), unit },
    content,
  }
}
