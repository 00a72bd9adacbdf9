/**
 * Ids that begin with the time in base62, so that their order is that of their creation. A page of a list goes on after an id, even
 * when that row is gone.
 */

import { randomBase62 } from '@gateway/contracts/api-key'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** Enough for 62^8 ms, until the year 8888. */
const TIME_LENGTH = 8
const RANDOM_LENGTH = 16

export function sortableId(prefix: string, nowMs: number, randomBytes: (count: number) => Uint8Array): string {
  let time = ''
  for (let rest = nowMs; time.length < TIME_LENGTH; rest = Math.floor(rest / 62)) time = ALPHABET[rest % 62]! + time
  return prefix + time + randomBase62(RANDOM_LENGTH, randomBytes)
}
