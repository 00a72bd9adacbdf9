/**
 * Developers who make and end their own keys without a pause. Their rows in the audit log come between those of a test's calls.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpcClient } from '@gateway/rpc/client'
import { hashOf, type Stage } from '../project-keys/stage.ts'

const DEVELOPERS = 4
const PAUSE_MS = 20
const WITHIN = { timeoutMs: 2_000, absentForMs: 2_000 }

export function keepChangingOwnKeys({ bus }: Stage): { stop(): Promise<number> } {
  const edge = rpcClient('edge', bus)
  const over = new AbortController()
  let changed = 0

  async function makeAndEnd(): Promise<void> {
    const owner = { issuer: 'https://id.example', subject: `developer-${randomUUID()}` }
    const minted = await edge.request('keysMint', { owner }, WITHIN)
    if (minted.kind !== 'minted') throw new Error(`the account of a new person is ${minted.kind}`)
    changed++
    await edge.request('keysRevoke', { owner, keyHash: hashOf(minted.key) }, WITHIN)
    changed++
  }

  const loops = Array.from({ length: DEVELOPERS }, async () => {
    while (!over.signal.aborted) {
      // The process that served it may have been killed.
      await makeAndEnd().catch(() => undefined)
      await sleep(PAUSE_MS)
    }
  })
  return {
    async stop() {
      over.abort()
      await Promise.all(loops)
      return changed
    },
  }
}
