/** The durable half of the bus on JetStream: publishing, consuming, and keeping the streams in shape. */

import { retryDelayMs, type Durable } from '../durable.ts'
import { openConsumers } from './durable-consume.ts'
import { openPublisher } from './durable-publish.ts'
import { jetStreamApi, type JetStreamParts } from './jetstream-api.ts'
import { startSweep } from './sweep.ts'

const LONGEST_RETRY_MS = 1_000

export function openJetStream(parts: JetStreamParts): Durable {
  const { wire, requests, counters, onStatus, streams } = parts
  const closing = new AbortController()
  const api = jetStreamApi(requests)

  /** Tries until it succeeds or the bus closes. */
  async function insist(during: string, action: () => Promise<void>): Promise<void> {
    for (let failures = 1; !closing.signal.aborted; failures++) {
      try {
        return await action()
      } catch (error) {
        if (closing.signal.aborted) return
        onStatus({ type: 'error', error, during })
        await new Promise((resolve) => setTimeout(resolve, Math.min(retryDelayMs(failures), LONGEST_RETRY_MS)))
      }
    }
  }

  const ensureStreams = () =>
    insist('creating streams', async () => {
      for (const stream of streams) await api.ensureStream(stream)
    })
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
      const ensure = () => insist('creating a consumer', () => api.ensureConsumer(options))
      const consumer = await consumers.open(options, ensure, stream.maxAgeMs === undefined ? counters : null)
      // Others read a stream with an age limit as they like, so nothing leaves it before that age.
      if (stream.maxAgeMs !== undefined) return consumer
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
