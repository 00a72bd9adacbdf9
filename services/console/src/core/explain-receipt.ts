/**
 * A receipt's charge in words, and the reason why nobody can rely on one.
 */

import type { ReceiptClaims } from '@gateway/contracts/receipts'
import { formatCount } from './format.ts'

export type RefusedReason = 'changed' | 'unknown-key' | 'other-type' | 'other-claims' | 'no-receipt' | 'old-browser'

/** `title`: without a full stop. */
export const REFUSALS: Record<RefusedReason, { title: string; advice: string }> = {
  changed: {
    title: 'The signature is wrong: something was changed',
    advice: 'At least one character differs from the receipt that the gateway signed. Do not rely on it.',
  },
  'unknown-key': {
    title: 'No published key of this gateway signed it',
    advice:
      'It may come from another gateway. After a rotation the operator keeps former keys as long as their secrets stay configured.',
  },
  'other-type': { title: 'It is signed, and is no receipt', advice: 'Paste the value of x-svc-receipt.' },
  'other-claims': {
    title: 'The signature is right, and this page does not know the claims',
    advice: 'Reload the page: it may be older than the gateway.',
  },
  'no-receipt': {
    title: 'This is no receipt',
    advice: 'A receipt has three parts with dots between them, and begins with eyJ. Paste all of it.',
  },
  'old-browser': {
    title: 'This browser knows no Ed25519 signatures',
    advice: 'Update the browser, or run ctl receipts verify.',
  },
}

/** `172.5 allowance tokens`, `$0.000213`: every digit that was signed. */
export function formatReceiptCharge({ amount, unit }: ReceiptClaims['charge']): string {
  return unit === 'usd' ? `$${amount}` : `${amount} allowance tokens`
}

/** `12 in, 34 out, 5 of them from the cache`. */
export function formatReceiptTokens({ usage }: Pick<ReceiptClaims, 'usage'>): string {
  const { prompt_tokens: input, completion_tokens: output, cached_tokens: cached, estimated } = usage
  const ofCache = cached > 0 ? ` (${formatCount(cached)} of the input cached)` : ''
  return `${formatCount(input)} in, ${formatCount(output)} out${ofCache}${estimated ? ', estimated' : ''}`
}
