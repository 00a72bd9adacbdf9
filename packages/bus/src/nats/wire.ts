/**
 * The wire over a NATS connection.
 *
 * The client drops what is published while it is disconnected, and so does this wire, openly. A listener that throws
 * would end the client's reader for good, so nothing is let through.
 *
 * What is published in one turn of the event loop leaves in one write. The client itself would write once per callback.
 *
 * The client waits for a server's answer as long as it takes, through reconnections, too. Whoever closes would wait for ever
 * for a server that is gone, so this wire waits for a connected one alone, and for a bounded time.
 */

import type { Msg, MsgHdrs, NatsConnection, PublishOptions, Status } from '@nats-io/nats-core'
import type { OnStatus } from '../status.ts'
import { LivedTimeout } from '../lived-timeout.ts'
import { atTurnsEnd, endTurn } from '../turn.ts'
import type { Wire, WireListener } from '../wire.ts'

const NO_RESPONDERS = 503
const SMALLEST_PAYLOAD_BYTES = 16 * 1024
const SILENT_AFTER_MS = 2_000

export interface NatsWire extends Wire {
  publish(subject: string, payload: Uint8Array, replyTo?: string, headers?: MsgHdrs): void
}

export function natsWire(connection: NatsConnection, onStatus: OnStatus): NatsWire {
  const listeners: ((connected: boolean) => void)[] = []
  let connected = true
  /** Nobody waits for a silent server a second time. */
  let silent = false
  let maxPayloadBytes = maxPayloadOf(connection)

  const changed = (now: boolean) => {
    connected = now
    silent = false
    if (now) maxPayloadBytes = maxPayloadOf(connection)
    for (const listener of listeners) listener(now)
  }
  void watch(connection.status(), (status) => {
    if (status.type === 'disconnect') {
      changed(false)
      onStatus({ type: 'disconnected' })
    } else if (status.type === 'reconnect') {
      changed(true)
      onStatus({ type: 'reconnected', server: status.server })
    } else if (status.type === 'error') {
      onStatus({ type: 'error', error: status.error, during: 'talking to NATS' })
    }
  })

  const patiently = async (answer: Promise<unknown>) => {
    const answered = answer.then(
      () => void (silent = false),
      () => {},
    )
    if (!connected || silent) return
    const late = Promise.withResolvers<void>()
    const timer = new LivedTimeout(() => {
      silent = true
      late.resolve()
    }, SILENT_AFTER_MS)
    await Promise.race([answered, late.promise])
    timer.clear()
  }

  const guarded = (listener: WireListener) => (error: Error | null, message: Msg) => {
    if (error !== null) return onStatus({ type: 'error', error, during: 'subscribing' })
    try {
      const { data } = message
      const noResponder = data.length === 0 && message.headers?.code === NO_RESPONDERS
      listener(data, message.subject, message.reply || undefined, noResponder)
    } catch (thrown) {
      onStatus({ type: 'error', error: thrown, during: `handling a message on ${message.subject}` })
    }
  }

  return {
    get connected() {
      return connected
    },
    get maxPayloadBytes() {
      return maxPayloadBytes
    },
    publish(subject, payload, replyTo, headers) {
      atTurnsEnd(() => {
        if (!connected) return
        try {
          connection.publish(subject, payload, publishOptions(replyTo, headers))
        } catch (error) {
          onStatus({ type: 'error', error, during: `publishing to ${subject}` })
        }
      })
    },
    async subscribe(subject, group, listener) {
      const callback = guarded(listener)
      const subscription = connection.subscribe(
        subject,
        group === undefined ? { callback } : { queue: group, callback },
      )
      // A flush that is cut off by a disconnect does no harm: the client subscribes again when it reconnects.
      await connection.flush().catch(() => {})
      return {
        async [Symbol.asyncDispose]() {
          if (!connection.isClosed()) await patiently(subscription.drain())
        },
      }
    },
    onConnection: (listener) => void listeners.push(listener),
    async flush() {
      endTurn()
      await patiently(connection.flush())
    },
    async [Symbol.asyncDispose]() {
      endTurn()
      await patiently(connection.flush())
      connected = false
      await connection.close()
    },
  }
}

function publishOptions(reply: string | undefined, headers: MsgHdrs | undefined): PublishOptions | undefined {
  if (reply === undefined) return undefined
  return headers === undefined ? { reply } : { reply, headers }
}

function maxPayloadOf(connection: NatsConnection): number {
  const bytes = connection.info?.max_payload ?? 1024 * 1024
  if (bytes < SMALLEST_PAYLOAD_BYTES)
    throw new RangeError(`the NATS server's max_payload of ${bytes} bytes is too small`)
  return bytes
}

async function watch(statuses: AsyncIterable<Status>, onEach: (status: Status) => void): Promise<void> {
  for await (const status of statuses) onEach(status)
}
