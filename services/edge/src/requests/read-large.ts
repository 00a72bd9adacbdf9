/**
 * The work of a thread beside the event loop: it parses and checks a large body and returns plain values. Its entry is
 * `large-body-worker.ts`.
 */

import { GatewayError, type ErrorCode, type ErrorDetails } from '@gateway/contracts/errors'
import { KINDS, type KindName } from './kinds.ts'
import { countTokens } from './messages.ts'
import { packRequest, type PackedRequest, type ReadingConfig } from './pack-request.ts'
import { parseJson } from './parse-json.ts'
import { understand } from './understand.ts'

export type Wanted = { kind: KindName } | { kind: 'count_tokens' }

/** `config` where it has changed since the last. */
export interface Reading {
  wanted: Wanted['kind']
  bytes: Uint8Array<ArrayBuffer>
  config: ReadingConfig | null
}

export type Read =
  | { packed: PackedRequest }
  | { counted: ReturnType<typeof countTokens> }
  | { refused: { code: ErrorCode; message: string; details: ErrorDetails } }
  | { failed: string }

/** `tookMs`: of the thread. */
export interface Done {
  read: Read
  tookMs: number
}

export function readLarge(wanted: Wanted['kind'], bytes: Uint8Array, config: ReadingConfig): Read {
  try {
    const body = parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    if (wanted === 'count_tokens') return { counted: countTokens(body) }
    return { packed: packRequest(understand(config, KINDS[wanted], body), config) }
  } catch (error) {
    if (!(error instanceof GatewayError)) return { failed: String(error instanceof Error ? error.stack : error) }
    return { refused: { code: error.code, message: error.message, details: error.details } }
  }
}

/** Throws the reader's error. */
export function orThrow(read: Read): Extract<Read, { packed: unknown } | { counted: unknown }> {
  if ('refused' in read) throw new GatewayError(read.refused.code, read.refused.message, read.refused.details)
  if ('failed' in read) throw new Error(read.failed)
  return read
}
