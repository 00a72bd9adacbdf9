/**
 * Publishes durable events until JetStream has acknowledged them.
 *
 * Acknowledgements come back over the shared inbox. Each event is sent again until it is acknowledged, under the same
 * message id, so that the server drops repetitions. The caller stops waiting at its timeout; the event stays. The
 * number of unacknowledged events is bounded: beyond it an event is refused at once and not kept.
 *
 * A stream whose leader is lost is silent until the servers have elected another. The publisher stays healthy meanwhile:
 * its events wait, and the new leader stores them.
 */

import { headers, type MsgHdrs } from '@nats-io/nats-core'
import { InFlightMap } from '@gateway/in-flight/collections'
import { type DurableEvents, NotStoredError } from '../port.ts'
import type { JetStreamParts } from './jetstream-api.ts'

const RETRY_MS = 1_000
const PREPARE_EVERY_MS = 1_000
const TICK_MS = 250
const UNHEALTHY_AFTER_MS = 2_000
/** NATS' servers miss a leader after 4 to 9 s and vote; then the publisher's next request finds the new one. */
const ELECTED_WITHIN_MS = 12_000
const MAX_PENDING_BYTES = 64 * 1024 * 1024
const CLOSE_FLUSH_MS = 2_000
const HEADER_BYTES = 128

export interface Publisher extends Pick<DurableEvents, 'publish' | 'isHealthy'> {
  /** Waits, for a bounded time, until everything is acknowledged. */
  close(): Promise<void>
}

interface PendingEvent {
  subject: string
  payload: Uint8Array
  headers: MsgHdrs
  publishedAtMs: number
  sentAtMs: number
  timer: NodeJS.Timeout
  resolve(): void
  reject(error: NotStoredError): void
}

export function openPublisher(parts: JetStreamParts & { ensureStreams: () => Promise<void> }): Publisher {
  const { wire, inbox, counters, measures, processId } = parts
  /** In order of publication. */
  const pending = new InFlightMap<number, PendingEvent>()
  let pendingBytes = 0
  let lastNumber = 0
  /** Since when publishing has not been possible: no connection, or streams that are not there yet. */
  let notReadySinceMs: number | null = null
  let disconnectedAtMs: number | null = null
  let preparedAtMs = 0
  let preparations = 0
  /** The streams were there once. */
  let isKnown = false
  /** A stream's leader replies, and does not take the event. */
  let isRefused = false
  let drained: (() => void) | undefined

  const unready = () => {
    notReadySinceMs ??= performance.now()
    preparations++
  }
  const prepare = () => {
    unready()
    const mine = preparations
    void parts.ensureStreams().then(() => {
      if (mine !== preparations) return
      notReadySinceMs = null
      isKnown = true
      isRefused = false
      preparedAtMs = performance.now()
      for (const [number, event] of pending) send(number, event)
    })
  }
  const send = (number: number, event: PendingEvent) => {
    if (notReadySinceMs !== null) return
    if (event.sentAtMs > 0) counters.durableRetried++
    event.sentAtMs = performance.now()
    wire.publish(event.subject, event.payload, inbox.address('d', number), event.headers)
  }

  inbox.on('d', (payload, token, noResponder) => {
    // No stream takes the subject: it is gone, or JetStream is not up yet.
    if (noResponder) {
      if (notReadySinceMs === null && performance.now() - preparedAtMs > PREPARE_EVERY_MS) prepare()
      return
    }
    isRefused = !isStored(payload)
    if (isRefused) return
    const number = Number(token)
    const event = pending.get(number)
    if (event === undefined) return
    pending.delete(number)
    pendingBytes -= event.payload.length
    counters.durablePending--
    counters.durableAcknowledged++
    measures.acknowledged(performance.now() - event.publishedAtMs)
    clearTimeout(event.timer)
    event.resolve()
    if (pending.size === 0) drained?.()
  })
  wire.onConnection((connected) => {
    // The server may have come back without its events.
    disconnectedAtMs = connected ? null : performance.now()
    if (connected) prepare()
    else unready()
  })
  /** While events wait for their acknowledgement. */
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  const sendAgain = () => {
    const nowMs = performance.now()
    for (const [number, event] of pending) if (nowMs - event.sentAtMs > RETRY_MS) send(number, event)
    if (pending.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
  prepare()

  return {
    isHealthy() {
      const nowMs = performance.now()
      if (nowMs - (disconnectedAtMs ?? nowMs) > UNHEALTHY_AFTER_MS) return false
      const [oldest] = pending.values()
      const sinceMs = Math.min(notReadySinceMs ?? nowMs, oldest?.publishedAtMs ?? nowMs)
      const mayBeElecting = isKnown && !isRefused
      return nowMs - sinceMs < (mayBeElecting ? ELECTED_WITHIN_MS : UNHEALTHY_AFTER_MS)
    },

    publish(subject, payload, { timeoutMs }) {
      if (payload.length + HEADER_BYTES > wire.maxPayloadBytes) {
        return Promise.reject(new NotStoredError(`an event of ${payload.length} bytes is too large`))
      }
      if (pendingBytes + payload.length > MAX_PENDING_BYTES) {
        return Promise.reject(new NotStoredError('too many events wait to be stored'))
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const number = ++lastNumber
      const id = headers()
      id.set('Nats-Msg-Id', `${processId}.${number}`)
      const event: PendingEvent = {
        subject,
        payload: Buffer.from(payload),
        headers: id,
        publishedAtMs: performance.now(),
        sentAtMs: 0,
        // An event that comes when the bus is closed does not keep its process.
        timer: setTimeout(
          () => reject(new NotStoredError(`${subject} not stored within ${timeoutMs} ms`)),
          timeoutMs,
        ).unref(),
        resolve,
        reject,
      }
      pending.set(number, event)
      if (!isClosed) timer ??= setInterval(sendAgain, TICK_MS).unref()
      pendingBytes += payload.length
      counters.durablePending++
      send(number, event)
      return promise
    },

    async close() {
      if (pending.size > 0) await flushed()
      isClosed = true
      clearInterval(timer)
      for (const event of pending.values()) {
        clearTimeout(event.timer)
        event.reject(new NotStoredError('the bus was closed before the event was stored'))
      }
    },
  }

  function flushed(): Promise<void> {
    return new Promise((resolve) => {
      drained = resolve
      setTimeout(resolve, CLOSE_FLUSH_MS).unref()
    })
  }
}

/** `{"stream":"USAGE","seq":7}`, also with `"duplicate":true`; or an error, upon which the event is sent again. */
function isStored(ack: Uint8Array): boolean {
  const response = JSON.parse(Buffer.from(ack).toString()) as { seq?: number; error?: unknown }
  return response.error === undefined && response.seq !== undefined
}
