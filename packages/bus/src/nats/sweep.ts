/**
 * Removes from a durable stream the events that all of its consumers have acknowledged, and measures the stream.
 *
 * The streams have no age limit and refuse new events when full, so that nothing unconsumed is lost; the sweep keeps
 * them small. It never passes the acknowledgement floor of a consumer that the stream is defined with, also of one that
 * does not exist yet.
 *
 * A stream may begin again at sequence 1: somebody deletes it, or its broker loses its files. So the sweep remembers
 * nothing from round to round, and it purges only the stream that the floors belong to.
 */

import type { BusCounters } from '../counters.ts'
import type { DurableStream } from '../durable.ts'
import type { OnStatus } from '../port.ts'
import type { JetStreamApi, StreamState } from './jetstream-api.ts'

const EVERY_MS = 30_000

export interface SweepParts {
  api: JetStreamApi
  stream: DurableStream
  counters: Pick<BusCounters, 'durableStoredBytes' | 'durableFreeBytes'>
  isConnected: () => boolean
  onStatus: OnStatus
}

export function startSweep({ api, stream, counters, isConnected, onStatus }: SweepParts): Disposable {
  let stopped = false
  const round = () => {
    if (!isConnected()) return
    sweep(api, stream).then(
      ({ bytes, maxBytes }) => {
        counters.durableStoredBytes = bytes
        counters.durableFreeBytes = maxBytes
      },
      // The next round tries again.
      (error: unknown) => stopped || onStatus({ type: 'error', error, during: `sweeping the stream ${stream.name}` }),
    )
  }
  round()
  const timer = setInterval(round, EVERY_MS).unref()
  return {
    [Symbol.dispose]() {
      stopped = true
      clearInterval(timer)
    },
  }
}

/** Returns the stream as the sweep found it. */
export async function sweep(api: JetStreamApi, stream: DurableStream): Promise<StreamState> {
  const found = await api.streamState(stream.name)
  const floors = await Promise.all(stream.consumers.map((consumer) => api.ackFloor(stream.name, consumer)))
  const floor = Math.min(...floors)
  if (found.messages === 0 || floor < found.firstSequence) return found
  // The floors were read in between, so they belong to this stream exactly if it is the same stream still.
  const { createdAt } = await api.streamState(stream.name)
  if (createdAt === found.createdAt) await api.purge(stream.name, floor)
  return found
}
