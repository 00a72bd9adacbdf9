/**
 * The keys that sign receipts, one for each master secret. The keys service gives their seeds to edges, so all edges sign by the same.
 *
 * An edge fetches them when it first needs them, and again when they are a minute old. It keeps those that it knows where keys does not
 * reply. Without any it refuses a request for a receipt before the request costs anything.
 */

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { ReceiptSecretsReply } from '@gateway/contracts/receipts'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { type KeysClient, shareCalls } from '../rpc/service-clients.ts'

export interface SigningKey {
  id: string
  privateKey: KeyObject
}

export interface ReceiptKeys {
  signing: SigningKey
  /** Public keys, as JWK: the one that signs, and those of former master secrets. */
  published: JWK[]
}

export interface ReceiptKeySource {
  current(): Promise<ReceiptKeys>
}

/** An edge signs by the former key for so long after a rotation. */
const FRESH_MS = 60_000

export function cacheReceiptKeys(
  keys: Pick<KeysClient, 'receiptSecrets'>,
  nowMs: () => number = () => performance.now(),
): ReceiptKeySource {
  let known: { keys: ReceiptKeys; staleAtMs: number } | null = null
  const fetch = shareCalls(
    () => '',
    async () => {
      const fetched = await deriveReceiptKeys(await keys.receiptSecrets({}))
      known = { keys: fetched, staleAtMs: nowMs() + FRESH_MS }
      return fetched
    },
  )

  return {
    async current() {
      if (known === null) return fetch({})
      if (nowMs() < known.staleAtMs) return known.keys
      const { keys: former } = known
      return fetch({}).catch(() => former)
    },
  }
}

export async function deriveReceiptKeys({ secrets }: ReceiptSecretsReply): Promise<ReceiptKeys> {
  const keys = await Promise.all(secrets.map(({ secret }) => keyOf(Buffer.from(secret, 'base64url'))))
  return { signing: keys[0]!.signing, published: keys.map(({ jwk }) => jwk) }
}

/** RFC 8410: the bytes before the seed of an Ed25519 key in PKCS #8. */
const BEFORE_SEED = Buffer.from('302e020100300506032b657004220420', 'hex')

async function keyOf(seed: Buffer): Promise<{ signing: SigningKey; jwk: JWK }> {
  const privateKey = createPrivateKey({ key: Buffer.concat([BEFORE_SEED, seed]), format: 'der', type: 'pkcs8' })
  const { kty, crv, x } = createPublicKey(privateKey).export({ format: 'jwk' }) as {
    kty: string
    crv: string
    x: string
  }
  const id = await calculateJwkThumbprint({ kty, crv, x })
  return { signing: { id, privateKey }, jwk: { kty, crv, x, kid: id, alg: 'EdDSA', use: 'sig' } }
}
