/**
 * Request and reply over the shared inbox.
 *
 * A request made while disconnected waits for the connection. One that was under way during an outage times out.
 *
 * This is the only place that repeats a request. It does so within the request's time. Shortly after a shared outage
 * nobody may serve the subject, because the responder is still reconnecting. The requester may also allow repeats
 * while nobody serves it, while replies fail, or while none comes. The first reply counts.
 */

import { InFlightMap } from '@gateway/in-flight/collections'
import { BusTimeoutError, NoResponderError, RemoteError, type RequestOptions, type OnStatus } from './port.ts'
import type { Inbox } from './inbox.ts'
import { LivedTimeout } from './event-loop.ts'
import type { Wire } from './wire.ts'

const OK = 0
const FAILED = 1
const RETRY_AFTER_MS = 50

export interface Requests {
  /** Sends a raw request; returns the reply as it came. */
  send(subject: string, payload: Uint8Array, options: RequestOptions): Promise<Uint8Array>
  request(subject: string, payload: Uint8Array, options: RequestOptions): Promise<Uint8Array>
  serve(subject: string, group: string, handler: (payload: Uint8Array) => Promise<Uint8Array>): Promise<AsyncDisposable>
  /** Ends every open request. */
  close(): void
}

interface Pending {
  subject: string
  payload: Uint8Array
  published: boolean
  absentUntilMs: number
  failingUntilMs: number
  timer: LivedTimeout
  silence: LivedTimeout | undefined
  resolve(reply: Uint8Array): void
  reject(error: Error): void
}

export function openRequests(wire: Wire, inbox: Inbox, isRecovering: () => boolean, onStatus: OnStatus): Requests {
  const pending = new InFlightMap<number, Pending>()
  let lastNumber = 0

  const publish = (number: number, request: Pending) => {
    request.published = wire.connected
    if (wire.connected) wire.publish(request.subject, request.payload, inbox.address('r', number))
  }
  const take = (number: number): Pending | undefined => {
    const request = pending.get(number)
    if (request === undefined) return undefined
    pending.delete(number)
    request.timer.clear()
    request.silence?.clear()
    return request
  }
  const retries = (request: Pending, payload: Uint8Array, noResponder: boolean): boolean => {
    const triesAgainAtMs = performance.now() + RETRY_AFTER_MS
    if (noResponder) return isRecovering() || triesAgainAtMs < request.absentUntilMs
    return payload[0] === FAILED && triesAgainAtMs < request.failingUntilMs
  }
  const publishAgain = (number: number) => {
    const request = pending.get(number)
    if (request !== undefined) publish(number, request)
  }
  const republishWhenSilent = (number: number, silentForMs: number) => {
    const request = pending.get(number)
    if (request === undefined) return
    request.silence = new LivedTimeout(() => {
      publishAgain(number)
      republishWhenSilent(number, silentForMs)
    }, silentForMs)
  }

  inbox.on('r', (payload, token, noResponder) => {
    const number = Number(token)
    const request = pending.get(number)
    if (request === undefined) return
    if (retries(request, payload, noResponder)) return void setTimeout(publishAgain, RETRY_AFTER_MS, number)
    take(number)
    if (noResponder) request.reject(new NoResponderError(`nobody serves ${request.subject}`))
    else request.resolve(payload)
  })
  wire.onConnection((connected) => {
    if (!connected) return
    for (const [number, request] of pending) if (!request.published) publish(number, request)
  })

  const put = (subject: string, payload: Uint8Array, options: RequestOptions): Promise<Uint8Array> => {
    const { timeoutMs, absentForMs = 0, failingForMs = 0, silentForMs } = options
    if (payload.length > wire.maxPayloadBytes) {
      return Promise.reject(new RangeError(`a request of ${payload.length} bytes to ${subject} is too large`))
    }
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const number = ++lastNumber
    const expire = () => take(number)?.reject(new BusTimeoutError(`no reply from ${subject} within ${timeoutMs} ms`))
    const timer = new LivedTimeout(expire, timeoutMs)
    const requestedAtMs = performance.now()
    const [absentUntilMs, failingUntilMs] = [requestedAtMs + absentForMs, requestedAtMs + failingForMs]
    const message = { subject, payload: Buffer.from(payload), published: false, absentUntilMs, failingUntilMs }
    const request: Pending = { ...message, timer, silence: undefined, resolve, reject }
    pending.set(number, request)
    publish(number, request)
    if (silentForMs !== undefined) republishWhenSilent(number, silentForMs)
    return promise
  }

  return {
    send: put,

    async request(subject, payload, options) {
      const reply = await put(subject, payload, options)
      if (reply[0] === OK) return reply.subarray(1)
      throw new RemoteError(Buffer.from(reply.subarray(1)).toString())
    },

    serve(subject, group, handler) {
      return wire.subscribe(subject, group, (payload, _subject, replyTo) => {
        void respond(payload, handler, wire.maxPayloadBytes).then(
          (reply) => {
            if (replyTo !== undefined) wire.publish(replyTo, reply)
          },
          (error: unknown) => onStatus({ type: 'error', error, during: `answering ${subject}` }),
        )
      })
    },

    close() {
      for (const [number] of [...pending]) take(number)?.reject(new BusTimeoutError('the bus was closed'))
    },
  }
}

async function respond(
  payload: Uint8Array,
  handler: (payload: Uint8Array) => Promise<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array> {
  try {
    const reply = await handler(payload)
    if (reply.length < maxBytes) return withStatus(OK, reply)
    return withStatus(FAILED, Buffer.from(`the reply of ${reply.length} bytes is too large`))
  } catch (error) {
    return withStatus(FAILED, Buffer.from(error instanceof Error ? error.message : String(error)))
  }
}

function withStatus(status: number, bytes: Uint8Array): Uint8Array {
  const reply = Buffer.allocUnsafe(1 + bytes.length)
  reply[0] = status
  reply.set(bytes, 1)
  return reply
}
