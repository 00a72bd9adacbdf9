/**
 * The keys that guard the record of a request with an `Idempotency-Key`. Its response is sealed. Its question is known by a
 * keyed fingerprint, which shows nobody without the key whether a guess is right. The edge fetches the keys from the keys
 * service when it first needs them, and again when they are a minute old. Those that it knows serve meanwhile.
 */

import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { ResponseSecretsReply } from '@gateway/contracts/idempotency'
import type { SealingKeys } from '@gateway/sealing/sealing'
import { type KeysClient, shareCalls } from '../rpc/service-clients.ts'

export interface ResponseKeySource {
  current(): Promise<ResponseKeys>
  /** Fetches the keys again: a record is guarded by a key that is not known here, so the master secret has been rotated. */
  refreshed(): Promise<ResponseKeys>
}

/** An edge seals under the former key for so long after a rotation. */
const FRESH_MS = 60_000

export function cacheResponseKeys(
  keys: Pick<KeysClient, 'responseSecrets'>,
  nowMs: () => number = () => performance.now(),
): ResponseKeySource {
  let known: ResponseKeys | null = null
  let staleAtMs = Infinity
  const send = shareCalls(
    () => '',
    async () => {
      staleAtMs = nowMs() + FRESH_MS
      return (known = deriveResponseKeys(await keys.responseSecrets({})))
    },
  )

  return {
    async current() {
      if (known === null) return send({})
      if (nowMs() >= staleAtMs) send({}).catch(() => {})
      return known
    },
    refreshed: () => send({}),
  }
}

interface ResponseKey {
  id: string
  sealingKey: Uint8Array
  fingerprintKey: Uint8Array
}

interface ResponseKeys extends SealingKeys {
  current: ResponseKey
  byId: ReadonlyMap<string, ResponseKey>
}

export function deriveResponseKeys({ secrets }: ResponseSecretsReply): ResponseKeys {
  const keys = secrets.map(({ masterKeyId, secret }): ResponseKey => {
    const derive = (purpose: string) =>
      new Uint8Array(hkdfSync('sha256', Buffer.from(secret, 'base64url'), '', purpose, 32))
    return { id: masterKeyId, sealingKey: derive('seal'), fingerprintKey: derive('fingerprint') }
  })
  const current = keys[0]
  if (!current) throw new Error('there is no key to seal answers with')
  return { current, byId: new Map(keys.map((key) => [key.id, key])) }
}

/** The question as pieces, one after the other. */
export type Question = readonly (string | Uint8Array)[]

export function fingerprintOf({ current }: ResponseKeys, question: Question): string {
  return `${current.id}.${mac(current, question).toString('base64url')}`
}

/** Null: the keys differ, so only the question itself can decide. */
export function isSameFingerprint(one: string, other: string): boolean | null {
  return keyIdOf(one) === keyIdOf(other) ? one === other : null
}

function keyIdOf(fingerprint: string): string {
  return fingerprint.split('.', 1)[0]!
}

/** Null: it was taken with a key that is not among these. */
export function isFingerprintOf(keys: ResponseKeys, fingerprint: string, question: Question): boolean | null {
  const [id = '', taken = ''] = fingerprint.split('.')
  const key = keys.byId.get(id)
  if (!key) return null
  const expected = mac(key, question)
  const given = Buffer.from(taken, 'base64url')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

function mac({ fingerprintKey }: ResponseKey, question: Question): Buffer {
  const hmac = createHmac('sha256', fingerprintKey)
  for (const piece of question) hmac.update(piece)
  return hmac.digest()
}

/**
 * Bills of the same question under the same key share this value, and the ledger keeps it. It is keyed as the fingerprint is,
 * so it confirms no guess at either. A rotation of the master secret between two runs parts them.
 */
export function billedClaimOf({ name, fingerprint }: { name: string; fingerprint: string }): string {
  return createHash('sha256').update(`${name} ${fingerprint}`).digest('base64url')
}

/** The place of a client's key in the store: clients may write anything into it. */
export function nameOf(idempotencyKey: string): string {
  return createHash('sha256').update(idempotencyKey).digest('base64url')
}
