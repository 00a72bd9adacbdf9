/**
 * An answer as it is kept: compressed, then sealed to its key, so that the store holds nothing that can be read, and
 * nothing that opens under another key, request or account.
 *
 * Inside: the length of the head (4 bytes), the head as JSON, the answer's own bytes.
 */

import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { keptHead, type KeptHead } from '@gateway/contracts/idempotency'
import type { HeldKey } from '@gateway/idempotency/port'
import { open, seal, type SealingKeys } from '@gateway/service/sealing'

/** Larger answers are not kept. */
export const MAX_KEPT_BYTES = 1024 * 1024

export interface KeptAnswer {
  head: KeptHead
  body: Uint8Array
}

const MASTER_KEY_ID_LENGTH = 12
const MAX_HEAD_BYTES = 64 * 1024
/** What takes longer than going to another thread and back goes there. */
const AT_ONCE_BYTES = 32 * 1024
const PACKING = { level: 1 }
const UNPACKING = { maxOutputLength: MAX_KEPT_BYTES + MAX_HEAD_BYTES }
const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

export async function sealAnswer(
  keys: SealingKeys,
  held: HeldKey,
  head: KeptHead,
  pieces: readonly Uint8Array[],
): Promise<Uint8Array> {
  const headBytes = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(headBytes.byteLength)
  const whole = Buffer.concat([length, headBytes, ...pieces])
  const packed = whole.byteLength <= AT_ONCE_BYTES ? deflateRawSync(whole, PACKING) : await deflate(whole, PACKING)
  const { masterKeyId, sealed } = seal(keys, packed, bindingOf(held))
  return Buffer.concat([Buffer.from(masterKeyId, 'hex'), sealed])
}

/** Throws where it was altered, moved, or sealed under a key that is not among these. */
export async function openAnswer(keys: SealingKeys, held: HeldKey, kept: Uint8Array): Promise<KeptAnswer> {
  const masterKeyId = Buffer.from(kept.subarray(0, MASTER_KEY_ID_LENGTH / 2)).toString('hex')
  const packed = open(keys, { masterKeyId, sealed: kept.subarray(MASTER_KEY_ID_LENGTH / 2) }, bindingOf(held))
  const whole =
    packed.byteLength <= AT_ONCE_BYTES ? inflateRawSync(packed, UNPACKING) : await inflate(packed, UNPACKING)
  const bodyAt = 4 + whole.readUInt32BE(0)
  const head = keptHead.parse(JSON.parse(whole.subarray(4, bodyAt).toString()))
  return { head, body: whole.subarray(bodyAt) }
}

function bindingOf({ account, name, requestId }: HeldKey): string {
  return `answer ${account} ${name} ${requestId}`
}
