/**
 * The format of an API key: `svc_` + key id (8) + account tag (8) + secret (32) + CRC-32 (6), all base62.
 *
 * The account tag is the hash tag of the account's state in Redis, so admission needs no look-up first. The checksum
 * refuses typos and scanners' garbage without a look-up. Neither proves anything: only the SHA-256 of the whole
 * key, known to the keys service, authenticates.
 */

export const KEY_PREFIX = 'svc_'
export const KEY_ID_LENGTH = 8
export const ACCOUNT_TAG_LENGTH = 8
export const KEY_SECRET_LENGTH = 32
export const CHECKSUM_LENGTH = 6
const MASK_LENGTH = KEY_PREFIX.length + KEY_ID_LENGTH

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const KEY_LENGTH = MASK_LENGTH + ACCOUNT_TAG_LENGTH + KEY_SECRET_LENGTH + CHECKSUM_LENGTH
const KEY_PATTERN = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${KEY_LENGTH - KEY_PREFIX.length}}$`)

export interface ParsedKey {
  keyId: string
  accountTag: string
}

/** Writes a key from its parts; `keyId`, `accountTag` and `secret` come from {@link randomBase62}. */
export function formatKey(parts: { keyId: string; accountTag: string; secret: string }): string {
  const body = KEY_PREFIX + parts.keyId + parts.accountTag + parts.secret
  return body + checksum(body)
}

/** The parts of a well-formed key, or null when the length, the alphabet or the checksum is wrong. */
export function parseKey(value: string): ParsedKey | null {
  if (!KEY_PATTERN.test(value)) return null
  const body = value.slice(0, -CHECKSUM_LENGTH)
  if (checksum(body) !== value.slice(-CHECKSUM_LENGTH)) return null
  return {
    keyId: value.slice(KEY_PREFIX.length, MASK_LENGTH),
    accountTag: value.slice(MASK_LENGTH, MASK_LENGTH + ACCOUNT_TAG_LENGTH),
  }
}

/** The visible part of a key: the prefix and the key id, never the account tag or the secret. */
export function maskKey(keyId: string): string {
  return `${KEY_PREFIX}${keyId}…`
}

/** The form that {@link maskKey} writes, with or without its ellipsis. */
export const MASKED_KEY = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${KEY_ID_LENGTH}}…?$`)

/** The key id in a text of {@link MASKED_KEY}. */
export function keyIdOf(masked: string): string {
  return masked.slice(KEY_PREFIX.length, MASK_LENGTH)
}

/** `length` base62 characters from a source of random bytes, without modulo bias. */
export function randomBase62(length: number, randomBytes: (count: number) => Uint8Array): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += ALPHABET[byte % 62]
    }
  }
  return text
}

export function checksum(text: string): string {
  let value = crc32(text)
  let digits = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[value % 62] + digits
    value = Math.floor(value / 62)
  }
  return digits
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let crc = index
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc >>> 0
})

function crc32(ascii: string): number {
  let crc = 0xffffffff
  for (let i = 0; i < ascii.length; i++) crc = CRC_TABLE[(crc ^ ascii.charCodeAt(i)) & 0xff]! ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}
