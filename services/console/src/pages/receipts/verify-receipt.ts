/**
 * Verifies a receipt in the browser, with the gateway's public keys alone. The receipt and the content stay on this machine.
 */

import { RECEIPT_MEMBER, RECEIPT_TYPE, receiptClaims, type ReceiptClaims } from '@gateway/contracts/receipts'
import { contentBefore } from '@gateway/sse/content-before'
import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from 'jose'
import type { RefusedReason } from '../../core/explain-receipt.ts'

export type Verification =
  | {
      kind: 'signed'
      claims: ReceiptClaims
      /** Null: nobody gave the content. */
      content: ContentCheck | null
    }
  | { kind: 'refused'; reason: RefusedReason }

export interface ContentCheck {
  isSame: boolean
  /** Bytes that count, of the given content. */
  bytes: number
}

export type PublicKeys = JSONWebKeySet

export async function verifyReceipt(
  pasted: string,
  keys: PublicKeys,
  content: Uint8Array<ArrayBuffer> | null,
): Promise<Verification> {
  const signed = await readSigned(findReceipt(pasted), keys)
  if (typeof signed === 'string') return { kind: 'refused', reason: signed }
  const claims = receiptClaims.safeParse(signed.claims)
  if (!claims.success) return { kind: 'refused', reason: 'other-claims' }
  return {
    kind: 'signed',
    claims: claims.data,
    content: content && (await compareContent(content, claims.data.content)),
  }
}

/** Header, claims and signature. */
const PARTS = 3

/** People paste a receipt with the header's name, or with the event around it. */
export function findReceipt(pasted: string): string {
  const words = pasted.split(/[^\w.-]/)
  return words.find((word) => word.startsWith('eyJ') && word.split('.').length === PARTS) ?? pasted.trim()
}

async function readSigned(receipt: string, keys: PublicKeys): Promise<{ claims: unknown } | RefusedReason> {
  try {
    const { payload, protectedHeader } = await compactVerify(receipt, createLocalJWKSet(keys), {
      algorithms: ['EdDSA'],
    })
    if (protectedHeader.typ !== RECEIPT_TYPE) return 'other-type'
    return { claims: JSON.parse(new TextDecoder().decode(payload)) as unknown }
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return 'unknown-key'
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'changed'
    // A browser from before 2025 may not know Ed25519.
    if (error instanceof DOMException && error.name === 'NotSupportedError') return 'old-browser'
    return 'no-receipt'
  }
}

async function compareContent(
  content: Uint8Array<ArrayBuffer>,
  { sha256 }: ReceiptClaims['content'],
): Promise<ContentCheck> {
  const counted = contentBefore(content, RECEIPT_MEMBER)
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', counted))
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return { isSame: hex === sha256, bytes: counted.length }
}
