/**
 * The few calls of JetStream's own interface that the bus needs, as nats-server 2.9 understands them.
 *
 * Spoken directly, over the shared inbox: the client library requests consumer metadata that 2.9 does not know, and
 * opens subscriptions of its own.
 */

import type { BusCounters, BusMeasures } from '../counters.ts'
import type { DurableStream } from '../durable.ts'
import type { Inbox } from '../inbox.ts'
import type { DurableConsumer, RequestOptions, OnStatus } from '../port.ts'
import type { Requests } from '../requests.ts'
import type { NatsWire } from './wire.ts'

const ONCE = { timeoutMs: 5_000 }
/** A stream's leader alone replies. So there is no reply until the servers have elected one. */
const REPEATEDLY = { ...ONCE, silentForMs: 500 }
const STREAM_NOT_FOUND = 10059
const NO_MESSAGE_FOUND = 10037
const STREAM_NAME_IN_USE = 10058
const NANOSECONDS_PER_MS = 1_000_000
/** A full stream refuses new events rather than drop old ones. */
export const MAX_BYTES = 1024 * 1024 * 1024
const MAX_KEPT_BYTES = 1024 * 1024
/** An event that its consumer has not acknowledged by then is given to another. */
export const ACK_WAIT_MS = 10_000
const BATCHES_UNACKNOWLEDGED = 20

/** A durable stream, and how the server keeps it. */
export interface NatsStream extends DurableStream {
  /** Copies in a cluster of servers; 1 by default. */
  replicas?: number
  /** For a stream that others read as they like: events go at this age, the oldest first when it is full. */
  maxAgeMs?: number
  /** The stream keeps the last message of each subject alone. */
  lastOnly?: boolean
}

export interface JetStreamParts {
  wire: NatsWire
  inbox: Inbox
  requests: Requests
  counters: BusCounters
  measures: BusMeasures
  onStatus: OnStatus
  processId: string
  streams: readonly NatsStream[]
}

export interface StreamState {
  /** The broker's own time of creation. It distinguishes a stream from a later one of the same name. */
  createdAt: string
  messages: number
  firstSequence: number
  bytes: number
  /** 0 for a stream without a bound. */
  maxBytes: number
}

export interface JetStreamApi {
  /** Creates the stream unless it is there; one that is there stays as its operator set it. */
  ensureStream(stream: NatsStream): Promise<void>
  ensureConsumer(options: Omit<DurableConsumer, 'handler'>): Promise<void>
  streamState(stream: string): Promise<StreamState>
  /** The last sequence below which the consumer has acknowledged everything; 0 while it does not exist. */
  ackFloor(stream: string, consumer: string): Promise<number>
  /** The last message of the subject; null where there is none, or no such stream. */
  lastMessage(stream: string, subject: string, timeoutMs: number): Promise<Uint8Array | null>
  /** Removes every event up to and with `sequence`. */
  purge(stream: string, sequence: number): Promise<void>
}

class JetStreamError extends Error {
  readonly code: number
  constructor(code: number, description: string) {
    super(description)
    this.name = 'JetStreamError'
    this.code = code
  }
}

export function jetStreamApi(requests: Pick<Requests, 'send'>): JetStreamApi {
  const call = async (
    subject: string,
    body: object,
    how: RequestOptions = REPEATEDLY,
  ): Promise<Record<string, unknown>> => {
    const reply = await requests.send(`$JS.API.${subject}`, Buffer.from(JSON.stringify(body)), how)
    const response = JSON.parse(Buffer.from(reply).toString()) as Record<string, unknown>
    const error = response['error'] as { err_code?: number; code: number; description?: string } | undefined
    if (error !== undefined)
      throw new JetStreamError(error.err_code ?? error.code, error.description ?? 'unknown error')
    return response
  }

  return {
    async ensureStream(stream) {
      try {
        await call(`STREAM.INFO.${stream.name}`, {})
      } catch (error) {
        if (!hasCode(error, STREAM_NOT_FOUND)) throw error
        await call(`STREAM.CREATE.${stream.name}`, streamConfig(stream)).catch((failure: unknown) => {
          // Somebody else was faster.
          if (!hasCode(failure, STREAM_NAME_IN_USE)) throw failure
        })
      }
    },

    async ensureConsumer({ stream, consumer, subject, maxBatch, inOrder }) {
      await call(`CONSUMER.DURABLE.CREATE.${stream}.${consumer}`, {
        stream_name: stream,
        config: {
          durable_name: consumer,
          filter_subject: subject,
          deliver_policy: 'all',
          replay_policy: 'instant',
          ack_policy: 'explicit',
          ack_wait: ACK_WAIT_MS * NANOSECONDS_PER_MS,
          max_ack_pending: inOrder ? 1 : maxBatch * BATCHES_UNACKNOWLEDGED,
          max_deliver: -1,
        },
      })
    },

    async streamState(stream) {
      const { created, config, state } = (await call(`STREAM.INFO.${stream}`, {})) as unknown as StreamInfo
      return {
        createdAt: created,
        messages: state.messages,
        firstSequence: state.first_seq,
        bytes: state.bytes,
        maxBytes: Math.max(config.max_bytes, 0),
      }
    },

    async ackFloor(stream, consumer) {
      try {
        const info = await call(`CONSUMER.INFO.${stream}.${consumer}`, {})
        return (info['ack_floor'] as { stream_seq?: number } | undefined)?.stream_seq ?? 0
      } catch (error) {
        if (error instanceof JetStreamError) return 0
        throw error
      }
    },

    async lastMessage(stream, subject, timeoutMs) {
      try {
        const found = await call(`STREAM.MSG.GET.${stream}`, { last_by_subj: subject }, { ...REPEATEDLY, timeoutMs })
        return Buffer.from((found as unknown as LastMessage).message.data ?? '', 'base64')
      } catch (error) {
        if (hasCode(error, STREAM_NOT_FOUND) || hasCode(error, NO_MESSAGE_FOUND)) return null
        throw error
      }
    },

    async purge(stream, sequence) {
      // A later repeat might meet a new stream of the same name.
      await call(`STREAM.PURGE.${stream}`, { seq: sequence + 1 }, ONCE)
    },
  }
}

interface LastMessage {
  message: { data?: string }
}

interface StreamInfo {
  created: string
  config: { max_bytes: number }
  state: { messages: number; first_seq: number; bytes: number }
}

/**
 * Nothing that was not consumed is ever dropped: no age limit, and a full stream refuses new events. Consumers
 * purge the events that all of them have acknowledged; see `sweep.ts`. A stream with an age limit, or of last
 * messages, drops old ones instead.
 */
function streamConfig({ name, subjects, replicas = 1, maxAgeMs, lastOnly = false }: NatsStream): object {
  return {
    name,
    subjects,
    retention: 'limits',
    storage: 'file',
    discard: maxAgeMs === undefined && !lastOnly ? 'new' : 'old',
    num_replicas: replicas,
    max_bytes: lastOnly ? MAX_KEPT_BYTES : MAX_BYTES,
    ...(lastOnly && { max_msgs_per_subject: 1 }),
    max_msgs: -1,
    max_age: (maxAgeMs ?? 0) * NANOSECONDS_PER_MS,
    max_consumers: -1,
    max_msg_size: -1,
    duplicate_window: 120_000 * NANOSECONDS_PER_MS,
  }
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamError && error.code === code
}
