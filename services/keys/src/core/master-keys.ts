/**
 * The keys that seal what must be readable again, derived from `KEYS_MASTER_SECRET`.
 *
 * The secret is one string, or several separated by commas while it is being rotated: the first one seals, all of them
 * open. A master key is named by a fingerprint of itself, so a sealed value says which one opens it and no name can be
 * given to the wrong secret.
 */

import { hkdfSync } from 'node:crypto'

export interface MasterKey {
  id: string
  sealingKey: Uint8Array
}

export interface MasterKeys {
  current: MasterKey
  /** Current and former ones, by id. */
  byId: ReadonlyMap<string, MasterKey>
}

const MIN_SECRET_LENGTH = 32
const PLACEHOLDER = /change.?me|default|example|insecure|placeholder|password|your.?secret/i

export function deriveMasterKeys(masterSecret: string): MasterKeys {
  const keys = splitSecrets(masterSecret).map(deriveMasterKey)
  const current = keys[0]
  if (!current) throw new Error('KEYS_MASTER_SECRET is empty')
  return { current, byId: new Map(keys.map((key) => [key.id, key])) }
}

/** Why this secret must not guard real keys, or null where it may. */
export function weaknessOf(masterSecret: string): string | null {
  const secrets = splitSecrets(masterSecret)
  if (secrets.length === 0) return 'it is empty'
  for (const secret of secrets) {
    if (PLACEHOLDER.test(secret)) return 'it is a placeholder'
    if (secret.length < MIN_SECRET_LENGTH) return `it is shorter than ${MIN_SECRET_LENGTH} characters`
    if (new Set(secret).size < 8) return 'it hardly varies'
  }
  return null
}

function splitSecrets(masterSecret: string): string[] {
  return masterSecret
    .split(',')
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '')
}

function deriveMasterKey(secret: string): MasterKey {
  return { id: Buffer.from(derive(secret, 'name', 6)).toString('hex'), sealingKey: derive(secret, 'seal', 32) }
}

function derive(secret: string, purpose: string, length: number): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secret, 'gateway keys', purpose, length))
}
