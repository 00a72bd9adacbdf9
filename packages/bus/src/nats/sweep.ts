/**
 * Removes from a durable stream what all of its consumers have acknowledged.
 *
 * The streams have no age limit and refuse new events when full, so that nothing unconsumed is lost; this is what keeps
 * them small. It never passes the acknowledgement floor of a consumer that the stream is defined with, also of one that
 * does not exist yet.
 */

import type { DurableStream } from '../durable.ts'
import type { JetStreamApi } from './jetstream-api.ts'

const EVERY_MS = 30_000

export function startSweep(api: JetStreamApi, stream: DurableStream, isConnected: () => boolean): Disposable {
  let swept = 0
  const timer = setInterval(() => {
    if (!isConnected()) return
    sweep(api, stream, swept).then(
      (sequence) => (swept = sequence),
      // The next round does it.
      () => {},
    )
  }, EVERY_MS).unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** Returns the sequence up to which the stream is clean now. */
export async function sweep(api: JetStreamApi, stream: DurableStream, swept: number): Promise<number> {
  const floors = await Promise.all(stream.consumers.map((consumer) => api.ackFloor(stream.name, consumer)))
  const floor = Math.min(...floors)
  if (floor <= swept) return swept
  await api.purge(stream.name, floor)
  return floor
}
