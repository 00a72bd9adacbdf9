/**
 * Kept values on JetStream: a stream that holds the last message of each subject. It shares nothing with durable events, so a
 * value that cannot be stored holds up no event.
 */

import { type KeptValues, NoResponderError, NotStoredError } from '../port.ts'
import type { Requests } from '../requests.ts'
import { jetStreamApi, type NatsStream } from './jetstream-api.ts'

/** A bus without such a stream keeps nothing, and has nothing. */
export function openKept(requests: Pick<Requests, 'send'>, stream: NatsStream | undefined): KeptValues {
  if (!stream) return { write: async () => {}, read: async () => null }
  const api = jetStreamApi(requests)
  async function store(subject: string, payload: Uint8Array, timeoutMs: number): Promise<void> {
    const reply = await requests.send(subject, payload, { timeoutMs })
    const { error } = JSON.parse(Buffer.from(reply).toString()) as { error?: { description?: string } }
    if (error) throw new NotStoredError(`${subject} was not stored: ${error.description ?? 'unknown error'}`)
  }
  return {
    async write(subject, payload, { timeoutMs }) {
      try {
        await store(subject, payload, timeoutMs)
      } catch (error) {
        // The stream is not there yet, or not any more.
        if (!(error instanceof NoResponderError)) throw error
        await api.ensureStream(stream)
        await store(subject, payload, timeoutMs)
      }
    },
    read: (subject, { timeoutMs }) => api.lastMessage(stream.name, subject, timeoutMs),
  }
}
