/**
 * Sealing: AES-256-GCM under the current master key, bound to the place where the value is kept, so that a sealed value
 * moved to another row does not open. Opening anything altered, moved or sealed under an unknown master key throws.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { MasterKeys } from './master-keys.ts'

export interface Sealed {
  masterKeyId: string
  /** Nonce (12 bytes), authentication tag (16 bytes), ciphertext. */
  sealed: Uint8Array
}

const NONCE_LENGTH = 12
const TAG_LENGTH = 16

export function seal(masterKeys: MasterKeys, plaintext: string | Uint8Array, place: string): Sealed {
  const nonce = randomBytes(NONCE_LENGTH)
  const cipher = createCipheriv('aes-256-gcm', masterKeys.current.sealingKey, nonce)
  cipher.setAAD(Buffer.from(place))
  const ciphertext = Buffer.concat([cipher.update(Buffer.from(plaintext)), cipher.final()])
  return { masterKeyId: masterKeys.current.id, sealed: Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]) }
}

export function open(masterKeys: MasterKeys, { masterKeyId, sealed }: Sealed, place: string): Buffer {
  const masterKey = masterKeys.byId.get(masterKeyId)
  if (!masterKey) throw new Error(`sealed under master key ${masterKeyId}, which KEYS_MASTER_SECRET does not hold`)
  const nonce = sealed.subarray(0, NONCE_LENGTH)
  const decipher = createDecipheriv('aes-256-gcm', masterKey.sealingKey, nonce, { authTagLength: TAG_LENGTH })
  decipher.setAAD(Buffer.from(place))
  decipher.setAuthTag(sealed.subarray(NONCE_LENGTH, NONCE_LENGTH + TAG_LENGTH))
  return Buffer.concat([decipher.update(sealed.subarray(NONCE_LENGTH + TAG_LENGTH)), decipher.final()])
}
