/**
 * The request to stop. The first SIGTERM or SIGINT begins an orderly stop. A second one ends the process at once, for a
 * person who does not want to wait.
 *
 * A terminal sends Ctrl-C to npm and to the gateway below it, and npm forwards it: one press comes twice or more.
 */

import { constants } from 'node:os'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Until `stopSignal` takes over, a signal ends the process at once: one that has not begun its work has nothing to finish. The
 * system would see to that itself, but for the first process of a container, which it never ends by default.
 */
export function endOnSignal(): void {
  for (const signal of SIGNALS) process.on(signal, endNow)
}

function endNow(signal: NodeJS.Signals): void {
  process.exit(128 + constants.signals[signal])
}

/** Within this time, the same signal is the same press. */
const SAME_PRESS_MS = 1_000

export function stopSignal(samePressMs = SAME_PRESS_MS): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let first: { signal: NodeJS.Signals; atMs: number } | undefined
  for (const signal of SIGNALS) process.off(signal, endNow)
  const onSignal = (signal: NodeJS.Signals) => {
    if (first && (signal !== first.signal || performance.now() - first.atMs >= samePressMs)) endNow(signal)
    first ??= { signal, atMs: performance.now() }
    resolve(signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return promise
}
