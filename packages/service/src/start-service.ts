/**
 * The result of every service's `start`: a running service, which stops in order when disposed.
 */

import { setTimeout as sleep } from 'node:timers/promises'

export interface RunningService extends AsyncDisposable {
  /** The service takes work; false while it drains. */
  readonly ready: () => boolean
}

/** No caller waits longer for a response. */
const FINISH_WITHIN_MS = 10_000

/**
 * Ready until it is disposed of, which closes its parts. A part that waits for a silent server is left behind: it ends when
 * the service's connections are cut.
 */
export function runUntilDisposed(parts: AsyncDisposableStack): RunningService {
  let stopping = false
  return {
    ready: () => !stopping,
    async [Symbol.asyncDispose]() {
      stopping = true
      await atMost(FINISH_WITHIN_MS, parts.disposeAsync())
    },
  }
}

/** Resolves when `done` does, or after `timeMs`. */
export async function atMost(timeMs: number, done: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([done, sleep(timeMs, undefined, { signal: timer.signal }).catch(() => {})])
  timer.abort()
}
