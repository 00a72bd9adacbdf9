/**
 * `keys …`: ends a key; seals all of them again after a rotation of the master secret.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from '@gateway/service/report-fatal'
import type { CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'

const PAUSE_MS = 500
/** Replicas that still hold the former secret first would seal under it for ever. */
const WITHOUT_PROGRESS = 20

export async function revokeKey(gateway: Gateway, keyId: string): Promise<CommandResult> {
  const reply = await gateway.request('keysRevokeById', { keyId })
  if (reply.kind === 'unknown') throw new UsageError('there is no such key')
  const { account } = reply
  return { data: { keyId, account }, text: `the key ${keyId} of account ${account} is dead on every edge` }
}

/** Cut off at any moment, it goes on where it was when it is called again. */
export async function reseal(gateway: Gateway, log: (line: string) => void): Promise<CommandResult> {
  let sealed = 0
  for (let idle = 0; idle < WITHOUT_PROGRESS;) {
    const { sealedAnew, isComplete } = await gateway.request('keysReseal', {})
    sealed += sealedAnew
    if (isComplete) {
      const text = `everything is sealed under the current master key (${sealed} keys sealed again)`
      return { data: { sealedAnew: sealed }, text }
    }
    if (sealedAnew > 0) {
      idle = 0
      log(`${sealed} keys sealed again`)
    } else {
      idle++
      await sleep(PAUSE_MS)
    }
  }
  throw new UsageError('not everything could be sealed again; do all replicas of keys have the new secret first?')
}
