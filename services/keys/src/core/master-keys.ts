/**
 * The keys that seal readable secrets, derived from `KEYS_MASTER_SECRET`.
 *
 * The secret is one string, or several separated by commas while it is being rotated: the first one seals, all of them
 * open. A fingerprint names a master key, so a sealed value names its key, and no name can belong to the wrong secret.
 */

import { hkdfSync } from 'node:crypto'
import type { ResponseSecretsReply } from '@gateway/contracts/idempotency'
import type { StateSecretsReply } from '@gateway/contracts/keys-api'
import type { ReceiptSecretsReply } from '@gateway/contracts/receipts'

interface MasterKey {
  id: string
  sealingKey: Uint8Array
  /** Edges receive it, and seal kept responses with keys derived from it. */
  responseSecret: Uint8Array
  /** Routers receive it, and seal the state that clients keep with a key derived from it. */
  stateSecret: Uint8Array
  /** Edges receive it: the seed of the key that signs receipts. */
  receiptSecret: Uint8Array
}

export interface MasterKeys {
  current: MasterKey
  /** Current and former ones, by id. */
  byId: ReadonlyMap<string, MasterKey>
}

export function deriveMasterKeys(masterSecret: string): MasterKeys {
  const keys = splitMasterSecret(masterSecret).map(deriveMasterKey)
  const current = keys[0]
  if (!current) throw new Error('KEYS_MASTER_SECRET is empty')
  return { current, byId: new Map(keys.map((key) => [key.id, key])) }
}

export function splitMasterSecret(masterSecret: string): string[] {
  return masterSecret
    .split(',')
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '')
}

/**
 * The secrets for kept responses, the current one first. They are one-way derivations of the master secret, so they open no
 * key, and edges need no secret of their own.
 */
export function responseSecretsOf(keys: MasterKeys): ResponseSecretsReply {
  return secretsOf(keys, ({ responseSecret }) => responseSecret)
}

/** The secrets for the state that clients keep, in the same order. They open no kept response, and those open no state. */
export function stateSecretsOf(keys: MasterKeys): StateSecretsReply {
  return secretsOf(keys, ({ stateSecret }) => stateSecret)
}

/** The seeds of the keys that sign receipts, in the same order. They open and seal nothing. */
export function receiptSecretsOf(keys: MasterKeys): ReceiptSecretsReply {
  return secretsOf(keys, ({ receiptSecret }) => receiptSecret)
}

function secretsOf({ current, byId }: MasterKeys, secretOf: (key: MasterKey) => Uint8Array) {
  const former = [...byId.values()].filter(({ id }) => id !== current.id)
  return {
    secrets: [current, ...former].map((key) => {
      return { masterKeyId: key.id, secret: Buffer.from(secretOf(key)).toString('base64url') }
    }),
  }
}

function deriveMasterKey(secret: string): MasterKey {
  return {
    id: Buffer.from(derive(secret, 'name', 6)).toString('hex'),
    sealingKey: derive(secret, 'seal', 32),
    responseSecret: derive(secret, 'answers', 32),
    stateSecret: derive(secret, 'state', 32),
    receiptSecret: derive(secret, 'receipts', 32),
  }
}

function derive(secret: string, purpose: string, length: number): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, 'gateway keys', purpose, length))
}
