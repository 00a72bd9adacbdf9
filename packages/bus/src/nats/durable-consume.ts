/**
 * Consumes durable events from a pull consumer, in batches.
 *
 * One pull is open at a time, for at most one batch and so many bytes. Its events are handed over some time after the
 * first one (`gatherTimeMs`), or when the batch is full. While the handler works, the next batch may arrive already.
 * A pull without a reply (an outage, a lost message) is sent again, once the consumer is there. The server says
 * nothing to a pull of a deleted consumer. Events not acknowledged come back from the server.
 */

import type { BusCounters } from '../counters.ts'
import { retryDelayMs } from '../durable.ts'
import type { DurableConsumer, DurableMessage } from '../port.ts'
import { ACK_WAIT_MS, type JetStreamParts } from './jetstream-api.ts'

const PULL_EXPIRES_MS = 5_000
const PULL_SILENT_MS = 6_000
const REOPEN_MS = 250
/** The size of a pull. Each event is read into many times its bytes, while the next pull comes. */
export const PORTION_BYTES = 16 * 1024 * 1024
const ACK = Buffer.from('+ACK')
const WORKING = Buffer.from('+WPI')
const RETRY_NOW = Buffer.from('-NAK')

export interface Consumers {
  /** `backlog`: where it counts the events that wait. */
  open(
    options: DurableConsumer,
    ensure: () => Promise<void>,
    backlog: Pick<BusCounters, 'durableBacklog'> | null,
  ): Promise<AsyncDisposable>
  close(): Promise<void>
}

interface Arrived {
  message: DurableMessage
  ackTo: string
  deliveries: number
}

interface Puller {
  onEvent(payload: Uint8Array, ack: AckAddress): void
  /** The pull `number` ended, or found nobody. */
  onStatus(number: number, noResponder: boolean): void
  onReconnect(): void
  close(): Promise<void>
}

export function openConsumers(parts: JetStreamParts): Consumers {
  const { inbox, wire } = parts
  /** By `<stream>.<consumer>`. */
  const pullers = new Map<string, Puller>()

  inbox.on('p', (payload, token, noResponder, replyTo) => {
    if (replyTo !== undefined) {
      const ack = readAckAddress(replyTo)
      const puller = pullers.get(ack.key)
      // Brought by a pull of a consumer that has left: somebody else's turn.
      return puller === undefined ? wire.publish(ack.address, RETRY_NOW) : puller.onEvent(payload, ack)
    }
    const dot = token.lastIndexOf('.')
    pullers.get(token.slice(0, dot))?.onStatus(Number(token.slice(dot + 1)), noResponder)
  })
  wire.onConnection((connected) => {
    if (connected) for (const puller of pullers.values()) puller.onReconnect()
  })

  return {
    async open(options, ensure, backlog) {
      const key = `${options.stream}.${options.consumer}`
      if (pullers.has(key)) throw new Error(`this bus consumes ${options.stream} as ${options.consumer} already`)
      await ensure()
      const puller = startPuller(parts, key, options, ensure, backlog)
      pullers.set(key, puller)
      return {
        async [Symbol.asyncDispose]() {
          await puller.close()
          pullers.delete(key)
        },
      }
    },

    async close() {
      await Promise.all([...pullers.values()].map((puller) => puller.close()))
    },
  }
}

function startPuller(
  parts: JetStreamParts,
  key: string,
  options: DurableConsumer,
  ensure: () => Promise<void>,
  backlog: Pick<BusCounters, 'durableBacklog'> | null,
): Puller {
  const { wire, inbox, onStatus } = parts
  // The server gives out no second event before the first is acknowledged, so more must not be pulled.
  const maxBatch = options.inOrder ? 1 : options.maxBatch
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${options.consumer}`
  const request = Buffer.from(
    JSON.stringify({
      batch: maxBatch,
      expires: PULL_EXPIRES_MS * 1_000_000,
      // An event above it would never come.
      max_bytes: Math.max(PORTION_BYTES, 2 * wire.maxPayloadBytes),
    }),
  )
  let arrived: Arrived[] = []
  /** Acknowledgements that wait for the connection. */
  let held: [string, Uint8Array][] = []
  let pull = 0
  let openedAtMs = 0
  /** Events that the open pull may still bring; 0 when none is open. */
  let outstanding = 0
  let silence: NodeJS.Timeout | undefined
  let gathering: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let lastTookMs = 0
  let closed = false

  const open = () => {
    if (closed || outstanding > 0 || arrived.length > 0 || !wire.connected) return
    outstanding = maxBatch
    pull++
    openedAtMs = performance.now()
    wire.publish(subject, request, inbox.address('p', `${key}.${pull}`))
    clearTimeout(silence)
    silence = setTimeout(reopen, PULL_SILENT_MS)
  }
  /** The open pull brings nothing more. */
  const finished = () => {
    outstanding = 0
    clearTimeout(silence)
    if (arrived.length === 0) open()
    else gather()
  }
  const reopen = () => {
    outstanding = 0
    clearTimeout(silence)
    void ensure().then(open)
  }
  const acknowledge = (ackTo: string, verdict: Uint8Array) => {
    if (wire.connected) wire.publish(ackTo, verdict)
    else held.push([ackTo, verdict])
  }

  const gather = () => {
    if (running !== undefined || arrived.length === 0) return
    if (outstanding === 0 || arrived.length >= maxBatch) return handle()
    gathering ??= setTimeout(handle, gatherTimeMs(lastTookMs))
  }
  const handle = () => {
    clearTimeout(gathering)
    gathering = undefined
    if (running !== undefined || arrived.length === 0) return
    const batch = arrived
    arrived = []
    running = commit(batch).finally(() => {
      running = undefined
      if (!closed) gather()
    })
    open()
  }
  const commit = async (batch: Arrived[]) => {
    // The broker gives nobody else the events that arrived meanwhile, either.
    const working = setInterval(() => {
      for (const event of [...batch, ...arrived]) wire.publish(event.ackTo, WORKING)
    }, ACK_WAIT_MS / 3)
    const beganAtMs = performance.now()
    try {
      await options.handler(batch.map(({ message }) => message))
      for (const event of batch) acknowledge(event.ackTo, ACK)
    } catch (error) {
      onStatus({ type: 'error', error, during: `consuming ${options.subject} as ${options.consumer}` })
      for (const event of batch) acknowledge(event.ackTo, retryLater(event.deliveries))
    } finally {
      clearInterval(working)
      lastTookMs = performance.now() - beganAtMs
    }
  }

  open()

  return {
    onEvent(payload, ack) {
      if (closed) return wire.publish(ack.address, RETRY_NOW)
      if (backlog) backlog.durableBacklog = ack.pending
      const message = { payload, sequence: ack.sequence, redelivered: ack.deliveries > 1 }
      arrived.push({ message, ackTo: ack.address, deliveries: ack.deliveries })
      if (outstanding > 0 && --outstanding === 0) clearTimeout(silence)
      gather()
    },
    onStatus(number, noResponder) {
      if (number !== pull) return
      // A pull that ends early has something wrong with it, or has brought its bytes.
      if (noResponder || performance.now() - openedAtMs < REOPEN_MS) setTimeout(reopen, REOPEN_MS)
      else finished()
    },
    onReconnect() {
      for (const [ackTo, verdict] of held) wire.publish(ackTo, verdict)
      held = []
      reopen()
    },
    async close() {
      closed = true
      clearTimeout(silence)
      clearTimeout(gathering)
      await running
      for (const event of arrived) wire.publish(event.ackTo, RETRY_NOW)
      arrived = []
    },
  }
}

interface AckAddress {
  address: string
  /** `<stream>.<consumer>` */
  key: string
  deliveries: number
  sequence: number
  /** Events of the stream that come after it. */
  pending: number
}

/**
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<time>.<pending>`; in a JetStream domain
 * two more tokens come before the stream.
 */
function readAckAddress(address: string): AckAddress {
  const tokens = address.split('.')
  const at = tokens.length > 9 ? 4 : 2
  return {
    address,
    key: `${tokens[at]}.${tokens[at + 1]}`,
    deliveries: Number(tokens[at + 2]),
    sequence: Number(tokens[at + 3]),
    pending: Number(tokens[at + 6]),
  }
}

function retryLater(deliveries: number): Uint8Array {
  return Buffer.from(`-NAK {"delay":${retryDelayMs(deliveries) * 1_000_000}}`)
}

const SHORTEST_GATHERING_MS = 50
/** A reader of the records sees an event this much later at most. */
const LONGEST_GATHERING_MS = 1_000
const TIMES_THE_WORK = 10

/**
 * The time for which events are gathered after a batch that took `lastTookMs`. Few large batches cost a database far
 * less than many small ones. A busy consumer spends about a tenth of its time handling, and one with little to do
 * hands over soon.
 */
export function gatherTimeMs(lastTookMs: number): number {
  return Math.min(LONGEST_GATHERING_MS, Math.max(SHORTEST_GATHERING_MS, TIMES_THE_WORK * lastTookMs))
}
