/** The durable half of the bus on JetStream: publishing, consuming, and keeping the streams in shape. */

import { retryDelayMs, type Durable } from '../durable.ts'
import type { OnStatus } from '../port.ts'
import { openConsumers } from './durable-consume.ts'
import { openPublisher } from './durable-publish.ts'
import { jetStreamApi, type JetStreamApi, type JetStreamParts, type NatsStream } from './jetstream-api.ts'
import { startSweep } from './sweep.ts'

const LONGEST_RETRY_MS = 1_000
/** A full stream refuses new events rather than drop old ones. */
const MAX_BYTES = 1024 * 1024 * 1024

export function openJetStream(parts: JetStreamParts): Durable {
  const { wire, requests, counters, onStatus, streams } = parts
  const closing = new AbortController()
  const api = jetStreamApi(requests)
  const ensureStreams = () => insist(() => createStreams(api, streams), 'creating streams', onStatus, closing.signal)
  const publisher = openPublisher({ ...parts, ensureStreams })
  const consumers = openConsumers(parts)

  return {
    isHealthy: publisher.isHealthy,
    publish: publisher.publish,
    async consume(options) {
      await ensureStreams()
      const stream = streams.find(({ name }) => name === options.stream)
      if (stream === undefined || !stream.consumers.includes(options.consumer)) {
        throw new Error(`the stream ${options.stream} is not defined with a consumer ${options.consumer}`)
      }
      const consumer = await consumers.open(options, () =>
        insist(() => api.ensureConsumer(consumers.settings(options)), 'creating a consumer', onStatus, closing.signal),
      )
      const sweep = startSweep({ api, stream, counters, isConnected: () => wire.connected, onStatus })
      return {
        async [Symbol.asyncDispose]() {
          sweep[Symbol.dispose]()
          await consumer[Symbol.asyncDispose]()
        },
      }
    },
    async [Symbol.asyncDispose]() {
      await consumers.close()
      await publisher.close()
      closing.abort()
    },
  }
}

async function createStreams(api: JetStreamApi, streams: readonly NatsStream[]): Promise<void> {
  for (const { name, subjects, replicas = 1, maxAgeMs } of streams) {
    await api.ensureStream({ name, subjects, replicas, maxBytes: MAX_BYTES, maxAgeMs })
  }
}

/** Tries until it succeeds or the bus closes. */
async function insist(
  action: () => Promise<void>,
  during: string,
  onStatus: OnStatus,
  closing: AbortSignal,
): Promise<void> {
  for (let failures = 1; !closing.aborted; failures++) {
    try {
      return await action()
    } catch (error) {
      if (closing.aborted) return
      onStatus({ type: 'error', error, during })
      await new Promise((resolve) => setTimeout(resolve, Math.min(retryDelayMs(failures), LONGEST_RETRY_MS)))
    }
  }
}
