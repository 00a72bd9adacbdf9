/**
 * The request to stop. The first SIGTERM or SIGINT begins an orderly stop. A second one ends the process at once, for a
 * person who does not want to wait.
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

export function stopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let stopping = false
  for (const signal of SIGNALS) process.off(signal, endNow)
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) endNow(signal)
    stopping = true
    resolve(signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return promise
}
