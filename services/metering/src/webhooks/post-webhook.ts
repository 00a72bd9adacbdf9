/**
 * One attempt to deliver an event to a webhook. Every response but a 2xx is a failure, a redirect too. The receiver's body is read
 * up to a bound, and only for the operator.
 */

import { Webhook } from 'standardwebhooks'
import { Client } from 'undici'
import type { AttemptOutcome } from '../core/delivery-attempts.ts'
import { type CheckedAddress, checkedAddress, pinnedTo } from '../public-address.ts'

export const ATTEMPT_TIMEOUT_MS = 15_000
const MOST_BODY_BYTES = 2_048
const GONE = 410

export interface Endpoint {
  url: string
  /** The current one, then the former one. */
  secrets: readonly string[]
  allowPrivate: boolean
}

export interface OutgoingMessage {
  eventId: string
  payload: string
}

export interface PostOptions {
  stopping: AbortSignal
  timeoutMs?: number
  resolve?: typeof checkedAddress
}

/** Rejects only when `stopping` aborts. */
export async function postWebhook(
  endpoint: Endpoint,
  message: OutgoingMessage,
  { stopping, timeoutMs = ATTEMPT_TIMEOUT_MS, resolve = checkedAddress }: PostOptions,
): Promise<AttemptOutcome> {
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const signal = AbortSignal.any([stopping, timeout])
    const { hostname } = new URL(endpoint.url)
    const address = await unlessAborted(resolve(hostname, endpoint.allowPrivate), signal)
    return outcomeOf(await post(endpoint, address, message, signal))
  } catch (error) {
    stopping.throwIfAborted()
    if (timeout.aborted) return { kind: 'failed', fault: `no response within ${timeoutMs / 1000} s` }
    return { kind: 'failed', fault: faultOf(error) }
  }
}

interface Reply {
  status: number
  text: string
}

async function post(
  { url, secrets }: Endpoint,
  address: CheckedAddress,
  message: OutgoingMessage,
  signal: AbortSignal,
): Promise<Reply> {
  const { origin, pathname, search } = new URL(url)
  const client = new Client(origin, { connect: pinnedTo(address) })
  try {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: `${pathname}${search}`,
      headers: headersOf(secrets, message),
      body: message.payload,
      signal,
    })
    // A receiver that took the delivery may send its body as slowly as it likes.
    return { status: statusCode, text: isTaken(statusCode) ? '' : await firstText(body) }
  } finally {
    await client.destroy()
  }
}

function headersOf(secrets: readonly string[], { eventId, payload }: OutgoingMessage) {
  const now = new Date()
  return {
    'content-type': 'application/json',
    'user-agent': 'model-gateway',
    'webhook-id': eventId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(eventId, now, payload)).join(' '),
  }
}

function isTaken(status: number): boolean {
  return status >= 200 && status < 300
}

async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function firstText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const part of body) {
      parts.push(part)
      bytes += part.length
      if (bytes >= MOST_BODY_BYTES) break
    }
  } catch {
    // The status has come, and it decides.
  }
  return Buffer.concat(parts).subarray(0, MOST_BODY_BYTES).toString()
}

function outcomeOf({ status, text }: Reply): AttemptOutcome {
  if (isTaken(status)) return { kind: 'delivered' }
  const fault = readable(`the receiver replied ${status}${text ? `: ${text}` : ''}`)
  return { kind: status === GONE ? 'gone' : 'failed', fault }
}

function faultOf(error: unknown): string {
  return readable(error instanceof Error ? error.message || error.name : String(error))
}

const LONGEST_FAULT = 500

function readable(text: string): string {
  return text.replaceAll(/[\p{Cc}\uFFFD]+/gu, ' ').slice(0, LONGEST_FAULT)
}
