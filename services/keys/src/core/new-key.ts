/**
 * Makes a key for an account: its owner's value, and the stored form.
 */

import { randomBytes } from 'node:crypto'
import {
  ACCOUNT_TAG_LENGTH,
  formatKey,
  KEY_ID_LENGTH,
  KEY_SECRET_LENGTH,
  randomBase62,
} from '@gateway/contracts/api-key'
import { hashKey } from './hashing.ts'
import type { MasterKeys } from './master-keys.ts'
import { open, seal, type Sealed } from '@gateway/sealing/sealing'

export interface NewKey extends Sealed {
  keyId: string
  value: string
  hash: Buffer
}

export function newAccountTag(): string {
  return randomBase62(ACCOUNT_TAG_LENGTH, randomBytes)
}

export function newKey(masterKeys: MasterKeys, accountTag: string): NewKey {
  const keyId = newKeyId()
  const value = newValue(keyId, accountTag)
  return { keyId, ...value, ...sealKey(masterKeys, keyId, value.value) }
}

export function newKeyId(): string {
  return randomBase62(KEY_ID_LENGTH, randomBytes)
}

/** A value for a key of this id. Of a project's key nothing but the hash is kept. */
export function newValue(keyId: string, accountTag: string): { value: string; hash: Buffer } {
  const value = formatKey({ keyId, accountTag, secret: randomBase62(KEY_SECRET_LENGTH, randomBytes) })
  return { value, hash: hashKey(value) }
}

export function sealKey(masterKeys: MasterKeys, keyId: string, value: string): Sealed {
  return seal(masterKeys, value, bindingOf(keyId))
}

export function openKey(masterKeys: MasterKeys, key: Sealed & { keyId: string }): string {
  return open(masterKeys, key, bindingOf(key.keyId)).toString()
}

function bindingOf(keyId: string): string {
  return `key ${keyId}`
}
