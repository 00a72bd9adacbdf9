/**
 * The user of the client's own application: OpenAI's `safety_identifier` or `user`, Anthropic's `metadata.user_id`. Usage is
 * counted by it. The ledger holds a hash, never the word itself.
 *
 * The hash is bound to the account, so nobody can follow a user across projects. It needs no secret, so a client can compute
 * the hash of a user that it knows.
 */

import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '@gateway/contracts/json'

/** 132 bits in base64url: two users of an account never share it by chance. */
const HASH_CHARS = 22

/** `base64url(SHA-256("<account>\n<user>"))`, its first 22 characters. */
export function hashEndUser(account: string, endUser: string): string {
  return createHash('sha256').update(`${account}\n${endUser}`).digest('base64url').slice(0, HASH_CHARS)
}

/** OpenAI's older `user` stands where a client does not send `safety_identifier`. */
export function endUserOf(request: JsonObject): string | undefined {
  return worded(request['safety_identifier']) ?? worded(request['user'])
}

/** Claude Code writes its session into it (`session.ts`), which is no part of the user. */
export function endUserOfUserId(userId: unknown): string | undefined {
  const word = worded(userId)
  if (word === undefined) return undefined
  if (!word.startsWith('{')) return worded(word.replace(SESSION, ''))
  try {
    const members: unknown = JSON.parse(word)
    if (!isObject(members)) return word
    const { session_id: _, ...user } = members
    return Object.keys(user).length === 0 ? undefined : JSON.stringify(user)
  } catch {
    return word
  }
}

const SESSION = /_session_[\w-]{8,64}$/

function worded(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
