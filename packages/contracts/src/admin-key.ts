/**
 * The format of an administrator's key: `svc_admin_` + key id (8) + secret (32) + CRC-32 (6), all base62. No key for inference has
 * this form, since their alphabet has no `_`. Only the SHA-256 of the whole key authenticates.
 */

import { checksum, CHECKSUM_LENGTH, KEY_ID_LENGTH, KEY_SECRET_LENGTH } from './api-key.ts'

export const ADMIN_KEY_PREFIX = 'svc_admin_'
const MASK_LENGTH = ADMIN_KEY_PREFIX.length + KEY_ID_LENGTH
const PATTERN = new RegExp(`^${ADMIN_KEY_PREFIX}[0-9A-Za-z]{${KEY_ID_LENGTH + KEY_SECRET_LENGTH + CHECKSUM_LENGTH}}$`)

/** Writes a key from its parts, which come from `randomBase62`. */
export function formatAdminKey({ keyId, secret }: { keyId: string; secret: string }): string {
  const body = ADMIN_KEY_PREFIX + keyId + secret
  return body + checksum(body)
}

/** Null when the length, the alphabet or the checksum is wrong. */
export function parseAdminKey(value: string): { keyId: string } | null {
  if (!PATTERN.test(value)) return null
  const body = value.slice(0, -CHECKSUM_LENGTH)
  if (checksum(body) !== value.slice(-CHECKSUM_LENGTH)) return null
  return { keyId: value.slice(ADMIN_KEY_PREFIX.length, MASK_LENGTH) }
}

export function maskAdminKey(keyId: string): string {
  return `${ADMIN_KEY_PREFIX}${keyId}…`
}
