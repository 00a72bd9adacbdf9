/**
 * Work in the background, round after round. Disposing ends the pause between two rounds, and waits for a round that runs.
 */

import { setTimeout as sleep } from 'node:timers/promises'

/** `round` returns the pause before the next one, in milliseconds. It handles its own failures. */
export function repeat(round: (stopping: AbortSignal) => Promise<number>): AsyncDisposable {
  const stopping = new AbortController()
  const { signal } = stopping

  async function work(): Promise<void> {
    while (!signal.aborted) {
      const pauseMs = await round(signal)
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  const working = work()
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await working
    },
  }
}
