/**
 * The request to stop. The first SIGTERM or SIGINT begins an orderly stop; a second one is a person who does not want to
 * wait for it, and ends the process at once.
 */

import { constants } from 'node:os'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

export function stopSignal(): Promise<NodeJS.Signals> {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let stopping = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(128 + constants.signals[signal])
    stopping = true
    resolve(signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return promise
}
