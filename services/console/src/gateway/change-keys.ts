/**
 * Mint, show, rotate and revoke. A rotate or revoke has to name the current key, which this page does not keep: it asks
 * for it by minting, which answers the active key, and goes on only when that is the key that the person saw.
 */

import { maskKey, parseKey } from '@gateway/contracts/api-key'
import { developerKeyResponse, revokedKeyResponse, rotatedKeyResponse } from '@gateway/contracts/developer-keys-api'
import { ask, GatewayProblem, type Caller } from './ask.ts'

const KEYS = '/v1/keys/developer'

/** Also answers the key that is there already. */
export async function mintKey(caller: Caller): Promise<string> {
  const { key } = await ask(caller, KEYS, developerKeyResponse, { method: 'POST', body: {} })
  return key
}

export async function rotateKey(caller: Caller, shown: string): Promise<string> {
  const body = { key: await currentKey(caller, shown) }
  const { key } = await ask(caller, `${KEYS}/rotate`, rotatedKeyResponse, { method: 'POST', body })
  return key
}

export async function revokeKey(caller: Caller, shown: string): Promise<void> {
  const body = { key: await currentKey(caller, shown) }
  await ask(caller, `${KEYS}/revoke`, revokedKeyResponse, { method: 'POST', body })
}

async function currentKey(caller: Caller, shown: string): Promise<string> {
  const key = await mintKey(caller)
  const parsed = parseKey(key)
  if (parsed && maskKey(parsed.keyId) === shown) return key
  throw new GatewayProblem({
    title: 'Your key was changed somewhere else',
    advice: 'The list shows the current one now. Nothing was changed here.',
    code: 'CHANGED',
    mayPass: false,
  })
}
