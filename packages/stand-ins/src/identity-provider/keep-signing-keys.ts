/**
 * The provider's signing key: one ES256 pair, kept in a file of its owner's where a folder is given.
 */

import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, type JWK } from 'jose'

const FILE_NAME = 'identity-keys.json'

export async function keepSigningKeys(directory: string | undefined): Promise<{ keys: (JWK & { kty: string })[] }> {
  if (directory === undefined) return makeKeys()
  const path = join(directory, FILE_NAME)
  try {
    return JSON.parse(await readFile(path, 'utf8')) as { keys: (JWK & { kty: string })[] }
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Error(`${path} is broken: put it back, or remove the file to make new keys`, { cause: error })
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const keys = await makeKeys()
  const draft = `${path}.${process.pid}`
  await writeFile(draft, JSON.stringify(keys), { mode: 0o600 })
  await rename(draft, path)
  return keys
}

async function makeKeys() {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return { keys: [{ ...jwk, kty: jwk.kty ?? 'EC', alg: 'ES256', use: 'sig' }] }
}
