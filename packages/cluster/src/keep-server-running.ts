/**
 * Starts a backing server again, two seconds after it died. One that the environment names is not ours to start.
 */

import type { Server } from '@gateway/servers/start'
import { RESTART_AFTER_MS } from './supervise.ts'

const LOOK_EVERY_MS = 100

export function keepServerRunning(name: string, server: Server, onChange: (event: string) => void): AsyncDisposable {
  if (server.pid === undefined) return { [Symbol.asyncDispose]: async () => {} }
  let diedAtMs: number | null = null
  let restarting: Promise<void> | null = null

  async function restart(): Promise<void> {
    try {
      await server.restart()
      diedAtMs = null
      onChange(`${name} started again (process ${server.pid})`)
    } catch (error) {
      diedAtMs = Date.now()
      onChange(`${name} could not be started again: ${String(error)}`)
    } finally {
      restarting = null
    }
  }

  const looking = setInterval(() => {
    if (restarting || server.pid !== undefined) return
    if (diedAtMs === null) {
      diedAtMs = Date.now()
      onChange(`${name} died; it is started again in ${RESTART_AFTER_MS / 1000} s`)
    } else if (Date.now() - diedAtMs >= RESTART_AFTER_MS) restarting = restart()
  }, LOOK_EVERY_MS)

  return {
    async [Symbol.asyncDispose]() {
      clearInterval(looking)
      await restarting
    },
  }
}
