/**
 * Mints, rotates and revokes developer keys. A response that is no 200 promises nothing: then the owner tries again
 * until it knows its key.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Keyring, Owner } from './owners.ts'

interface KeyResponse {
  status: number | null
  key: string
  detail: string
}

const GIVE_UP_MS = 20_000
const AGAIN_AFTER_MS = 500
const MINT_DEADLINE_MS = 120_000

export async function callKeysApi(
  url: string,
  token: string,
  action: 'mint' | 'rotate' | 'revoke',
  key?: string,
): Promise<KeyResponse> {
  try {
    const response = await fetch(`${url}/v1/keys/developer${action === 'mint' ? '' : `/${action}`}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ key }),
      signal: AbortSignal.timeout(GIVE_UP_MS),
    })
    const detail = await response.text()
    const body = JSON.parse(detail) as { key?: string }
    return { status: response.status, key: body.key ?? '', detail }
  } catch (error) {
    return { status: null, key: '', detail: String(error) }
  }
}

/** Rotates or revokes; afterwards the owner has a living key again. Returns the outcome of the change itself. */
export async function changeKey(
  keyring: Keyring,
  owner: Owner,
  action: 'rotate' | 'revoke',
  urls: readonly string[],
  edge: number,
): Promise<KeyResponse> {
  const former = owner.key
  keyring.unsure(former)
  const reply = await callKeysApi(urls[edge]!, owner.token, action, former)
  if (reply.status === 200) keyring.died(owner, former)
  if (reply.status === 200 && action === 'rotate') owner.key = reply.key
  else owner.key = await mintWithRetries(owner, urls, edge)
  return reply
}

async function mintWithRetries(owner: Owner, urls: readonly string[], edge: number): Promise<string> {
  const giveUpAtMs = Date.now() + MINT_DEADLINE_MS
  for (let turn = edge; Date.now() < giveUpAtMs; turn++) {
    const { status, key } = await callKeysApi(urls[turn % urls.length]!, owner.token, 'mint')
    if (status === 200) return key
    await sleep(AGAIN_AFTER_MS)
  }
  throw new Error(`${owner.name} was given no key for ${MINT_DEADLINE_MS / 1_000} s`)
}
