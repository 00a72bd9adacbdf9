/**
 * `receipts verify`: whether a gateway signed this receipt, and for this content. It needs the public keys alone.
 */

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { RECEIPT_KEYS_PATH, RECEIPT_MEMBER, RECEIPT_TYPE, receiptClaims } from '@gateway/contracts/receipts'
import { UsageError } from '@gateway/service/report-fatal'
import { contentBefore } from '@gateway/sse/content-before'
import { compactVerify, createLocalJWKSet, errors, type JSONWebKeySet } from 'jose'
import * as z from 'zod'
import { oneLine, type CommandResult } from './command-result.ts'

export interface VerifyOptions {
  /** An address or a file. */
  keys?: string
  /** A file with the response as it came. */
  content?: string
}

const keySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })) })
const FETCH_TIMEOUT_MS = 30_000

export async function verifyReceipt(
  receipt: string,
  { keys, content }: VerifyOptions,
  gatewayUrl: string | undefined,
): Promise<CommandResult> {
  const published = await readKeys(
    keys ?? (gatewayUrl && `${gatewayUrl.replace(/\/(v1\/?)?$/, '')}${RECEIPT_KEYS_PATH}`),
  )
  const signed = await signedClaims(receipt.trim(), published)
  if (typeof signed === 'string') return fault(signed)
  const claims = receiptClaims.safeParse(signed)
  if (!claims.success) return fault('the signature is right, and the claims are no receipt of this release')
  const problem = content === undefined ? null : contentProblem(await readFile(content), claims.data.content)
  if (problem !== null) return fault(problem)
  const { iss, jti, iat, account, model, usage, charge } = claims.data
  const when = new Date(iat * 1_000).toISOString()
  const tokens = `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`
  const text = `${iss} charged ${account} ${charge.amount} ${charge.unit} for ${tokens} of ${model}, request ${jti}, ${when}`
  return { data: { verified: true, claims: claims.data }, text: oneLine(text) }
}

function fault(problem: string): CommandResult {
  return { data: { verified: false, problem }, text: oneLine(problem), findsFault: true }
}

async function readKeys(from: string | undefined): Promise<JSONWebKeySet> {
  if (from === undefined)
    throw new UsageError('name the public keys: --keys <address or file>, or --url before the command')
  try {
    const text = URL.canParse(from)
      ? await (await fetch(from, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })).text()
      : await readFile(from, 'utf8')
    return keySet.parse(JSON.parse(text))
  } catch (cause) {
    throw new UsageError(`${from} has no public keys`, { cause })
  }
}

/** Or the reason why nobody can rely on them. */
async function signedClaims(receipt: string, published: JSONWebKeySet): Promise<unknown> {
  try {
    const { payload, protectedHeader } = await compactVerify(receipt, createLocalJWKSet(published), {
      algorithms: ['EdDSA'],
    })
    if (protectedHeader.typ !== RECEIPT_TYPE) return 'it is signed, and is no receipt'
    return JSON.parse(Buffer.from(payload).toString())
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return 'no published key has signed it'
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'the signature is wrong: something was changed'
    return 'it is no receipt: a receipt is a compact JWS'
  }
}

interface Expected {
  bytes: number
  sha256: string
}

/** `response`: a JSON body, or a stream with the event that carries the receipt. */
function contentProblem(response: Uint8Array<ArrayBuffer>, { bytes, sha256 }: Expected): string | null {
  const content = contentBefore(response, RECEIPT_MEMBER)
  if (createHash('sha256').update(content).digest('hex') === sha256) return null
  return `the content is another one: ${content.byteLength} bytes, and the receipt is for ${bytes}`
}
