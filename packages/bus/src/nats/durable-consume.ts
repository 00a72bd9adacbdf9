/**
 * Consumes durable events from a pull consumer, in batches.
 *
 * One pull is open at a time, for at most one batch; what it brings is handed over a few milliseconds after the first
 * event, or when the batch is full. While the handler works, the next batch may arrive already. A pull that went
 * unanswered (an outage, a lost message) is simply put again. Events not acknowledged come back from the server.
 */

import { retryDelayMs } from '../durable.ts'
import type { DurableConsumer, DurableMessage } from '../port.ts'
import type { ConsumerSettings } from './jetstream-api.ts'
import type { JetStreamParts } from './jetstream.ts'

const PULL_EXPIRES_MS = 5_000
const PULL_SILENT_MS = 6_000
const GATHER_MS = 5
const ACK_WAIT_MS = 10_000
const BATCHES_UNACKNOWLEDGED = 20
const REOPEN_MS = 250
const ACK = Buffer.from('+ACK')
const WORKING = Buffer.from('+WPI')

export interface Consumers {
  settings(options: DurableConsumer): ConsumerSettings
  open(options: DurableConsumer, ensure: () => Promise<void>): Promise<AsyncDisposable>
  close(): Promise<void>
}

interface Arrived {
  message: DurableMessage
  ackTo: string
  deliveries: number
}

interface Puller {
  onMessage(payload: Uint8Array, pull: number, replyTo: string | undefined): void
  onNoResponder(): void
  onReconnect(): void
  close(): Promise<void>
}

export function openConsumers(parts: JetStreamParts): Consumers {
  const { inbox, wire } = parts
  const pullers = new Map<number, Puller>()
  let lastId = 0

  inbox.on('p', (payload, token, noResponder, replyTo) => {
    const dot = token.indexOf('.')
    const puller = pullers.get(Number(token.slice(0, dot)))
    if (noResponder) puller?.onNoResponder()
    else puller?.onMessage(payload, Number(token.slice(dot + 1)), replyTo)
  })
  wire.onConnection((connected) => {
    if (connected) for (const puller of pullers.values()) puller.onReconnect()
  })

  return {
    settings: ({ stream, consumer, subject, maxBatch }) => ({
      stream,
      consumer,
      subject,
      ackWaitMs: ACK_WAIT_MS,
      maxAckPending: maxBatch * BATCHES_UNACKNOWLEDGED,
    }),

    async open(options, ensure) {
      await ensure()
      const id = ++lastId
      const puller = startPuller(parts, id, options, ensure)
      pullers.set(id, puller)
      return {
        async [Symbol.asyncDispose]() {
          await puller.close()
          pullers.delete(id)
        },
      }
    },

    async close() {
      await Promise.all([...pullers.values()].map((puller) => puller.close()))
    },
  }
}

function startPuller(parts: JetStreamParts, id: number, options: DurableConsumer, ensure: () => Promise<void>): Puller {
  const { wire, inbox, onStatus } = parts
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${options.stream}.${options.consumer}`
  const request = Buffer.from(JSON.stringify({ batch: options.maxBatch, expires: PULL_EXPIRES_MS * 1_000_000 }))
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
  let closed = false

  const open = () => {
    if (closed || outstanding > 0 || arrived.length > 0 || !wire.connected) return
    outstanding = options.maxBatch
    pull++
    openedAtMs = performance.now()
    wire.publish(subject, request, inbox.address('p', `${id}.${pull}`))
    clearTimeout(silence)
    silence = setTimeout(finished, PULL_SILENT_MS)
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
  const answer = (ackTo: string, verdict: Uint8Array) => {
    if (wire.connected) wire.publish(ackTo, verdict)
    else held.push([ackTo, verdict])
  }

  const gather = () => {
    if (running !== undefined || arrived.length === 0) return
    if (outstanding === 0 || arrived.length >= options.maxBatch) return handle()
    gathering ??= setTimeout(handle, GATHER_MS)
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
    const working = setInterval(() => {
      for (const event of batch) wire.publish(event.ackTo, WORKING)
    }, ACK_WAIT_MS / 3)
    try {
      await options.handler(batch.map(({ message }) => message))
      for (const event of batch) answer(event.ackTo, ACK)
    } catch (error) {
      onStatus({ type: 'error', error, during: `consuming ${options.subject} as ${options.consumer}` })
      for (const event of batch) answer(event.ackTo, retryLater(event.deliveries))
    } finally {
      clearInterval(working)
    }
  }

  open()

  return {
    onMessage(payload, ofPull, replyTo) {
      if (replyTo === undefined || !replyTo.startsWith('$JS.ACK.')) {
        // A status: the pull expired, or, sooner, something is wrong with it.
        if (ofPull !== pull) return
        if (performance.now() - openedAtMs > REOPEN_MS) return finished()
        return void setTimeout(reopen, REOPEN_MS)
      }
      if (closed) return wire.publish(replyTo, retryLater(1))
      arrived.push(readMessage(payload, replyTo))
      if (ofPull === pull && outstanding > 0 && --outstanding === 0) clearTimeout(silence)
      gather()
    },
    onNoResponder: () => void setTimeout(reopen, REOPEN_MS),
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
      for (const event of arrived) wire.publish(event.ackTo, retryLater(1))
      arrived = []
    },
  }
}

/** `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>`; newer ones add a prefix. */
function readMessage(payload: Uint8Array, ackTo: string): Arrived {
  const tokens = ackTo.split('.')
  const at = tokens.length > 9 ? 6 : 4
  const deliveries = Number(tokens[at])
  return {
    message: { payload, sequence: Number(tokens[at + 1]), redelivered: deliveries > 1 },
    ackTo,
    deliveries,
  }
}

function retryLater(deliveries: number): Uint8Array {
  return Buffer.from(`-NAK {"delay":${retryDelayMs(deliveries) * 1_000_000}}`)
}
