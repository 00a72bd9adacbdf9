/**
 * The background work of keys. It seals values of a former master key under the current one, so that an operator can
 * retire the former. It deletes client networks that no longer count. Any replica may do it, at its start and every ten
 * minutes; a failure is logged and tried again.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { forgetOldNetworks } from './db/guest-networks.ts'
import type { KeysContext } from './keys-context.ts'
import { sealSomeAnew } from './seal-anew.ts'

const EVERY_MS = 600_000

type TidyContext = Pick<KeysContext, 'database' | 'masterKeys' | 'logger'>

export function keepTidy(context: TidyContext): AsyncDisposable {
  const stopping = new AbortController()
  const tidying = tidyAsTimePasses(context, stopping.signal)
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await tidying
    },
  }
}

async function tidyAsTimePasses(context: TidyContext, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    try {
      await forgetOldNetworks(context.database)
      while (!stopping.aborted && (await sealSomeAnew(context)) > 0);
    } catch (error) {
      context.logger.warn({ err: error }, 'tidying up failed; it will be tried again')
    }
    await sleep(EVERY_MS, undefined, { signal: stopping }).catch(() => {})
  }
}
