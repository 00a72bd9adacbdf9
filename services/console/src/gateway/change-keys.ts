/**
 * Mint, show, rotate and revoke. The page keeps no key. It gets the current one by a mint, which returns the active key:
 * to show it, or to name it in a rotate or revoke. A mint without an active key creates one. So the page first checks that
 * the key that the person saw is still the active one.
 */

import { maskKey, parseKey } from '@gateway/contracts/api-key'
import {
  developerKeyListResponse,
  developerKeyResponse,
  revokedKeyResponse,
  rotatedKeyResponse,
} from '@gateway/contracts/developer-keys-api'
import { useMutation, useQueryClient, type UseMutationResult } from '@tanstack/react-query'
import { sendRequest, GatewayProblem, type Caller } from './send-request.ts'
import { activeKeyOf } from './queries.ts'
import { useCaller } from './use-caller.ts'

const KEYS = '/v1/keys/developer'

export const useMintKey = () => useKeyChange(mintKey)
/** The other three take the masked key that the person acts on. */
export const useShowKey = () => useKeyChange(showKey)
export const useRotateKey = () => useKeyChange(rotateKey)
export const useRevokeKey = () => useKeyChange(revokeKey)

/** After a change, also one that failed, the page fetches keys and account again. */
function useKeyChange<Input, Result>(
  change: (caller: Caller, input: Input) => Promise<Result>,
): UseMutationResult<Result, Error, Input> {
  const caller = useCaller()
  const client = useQueryClient()
  return useMutation({
    mutationFn: (input: Input) => change(caller, input),
    async onSettled() {
      void client.invalidateQueries({ queryKey: ['account'] })
      await client.invalidateQueries({ queryKey: ['keys'] })
    },
  })
}

/** Returns the active key where there is one. */
async function mintKey(caller: Caller): Promise<string> {
  const { key } = await sendRequest(caller, KEYS, developerKeyResponse, { method: 'POST', body: {} })
  return key
}

async function rotateKey(caller: Caller, shown: string): Promise<string> {
  const body = { key: await showKey(caller, shown) }
  const { key } = await sendRequest(caller, `${KEYS}/rotate`, rotatedKeyResponse, { method: 'POST', body })
  return key
}

async function revokeKey(caller: Caller, shown: string): Promise<void> {
  const body = { key: await showKey(caller, shown) }
  await sendRequest(caller, `${KEYS}/revoke`, revokedKeyResponse, { method: 'POST', body })
}

/** `shown`: the masked key that the person saw. */
async function showKey(caller: Caller, shown: string): Promise<string> {
  const listed = await sendRequest(caller, KEYS, developerKeyListResponse)
  if (activeKeyOf(listed)?.key === shown) {
    const key = await mintKey(caller)
    const parsed = parseKey(key)
    if (parsed && maskKey(parsed.keyId) === shown) return key
  }
  throw new GatewayProblem({
    title: 'Your key was changed somewhere else',
    advice: 'The list shows the current one now. Nothing was changed here.',
    code: 'CHANGED',
    mayPass: false,
  })
}
