/**
 * A quota at its end: ten times as many requests as fit come at once. Later, requests come one by one until the gateway
 * refuses for good, so that it counts all that ran by then.
 *
 * Every response has the same tokens, by the backend's own count.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Endpoint } from '../harness/load.ts'

export interface BurstResult {
  servedAtOnce: number
  servedOneByOne: number
  /** Neither served nor refused. */
  failed: number
}

export const QUOTA_REQUESTS = 20
export const AT_ONCE = 200
/** Slow enough that all of them run at once. */
const ORDER = 'bench chunks=80 every_us=5000 first_us=0 bytes=0.'
/** 20 of the prompt and one for each chunk. */
export const TOKENS_EACH = 100
/** A gateway may count the text itself, which has more tokens than the backend's usage states. */
const CAP_TOKENS = 200
const SETTLES_WITHIN_MS = 2_000
/** Enough to see that a gateway does not refuse. */
const MOST_ONE_BY_ONE = 2 * QUOTA_REQUESTS
const REFUSALS_IN_A_ROW = 5
const PAUSE_MS = 1_000
const TIMEOUT_MS = 30_000
const EXCERPT = 200

type Outcome = { kind: 'served' } | { kind: 'refused' | 'failed'; reply: string }

export async function sendBurst(endpoint: Endpoint, signal: AbortSignal): Promise<BurstResult> {
  const outcomes = await Promise.all(Array.from({ length: AT_ONCE }, () => requestOnce(endpoint, signal)))
  const count = (kind: Outcome['kind']) => outcomes.filter((outcome) => outcome.kind === kind).length
  const [first] = outcomes.flatMap((outcome) => (outcome.kind === 'served' ? [] : [outcome.reply]))
  if (count('served') === 0) throw new Error(`none of ${AT_ONCE} was served; the first reply: ${first}`)
  await sleep(SETTLES_WITHIN_MS, undefined, { signal })
  const later = await sendOneByOne(endpoint, signal)
  return { servedAtOnce: count('served'), servedOneByOne: later.served, failed: count('failed') + later.failed }
}

async function sendOneByOne(endpoint: Endpoint, signal: AbortSignal): Promise<{ served: number; failed: number }> {
  const sum = { served: 0, failed: 0 }
  let inARow = 0
  while (sum.served < MOST_ONE_BY_ONE && inARow < REFUSALS_IN_A_ROW) {
    const { kind } = await requestOnce(endpoint, signal)
    if (kind === 'served') {
      sum.served++
      inARow = 0
      continue
    }
    if (kind === 'failed') sum.failed++
    inARow++
    await sleep(PAUSE_MS, undefined, { signal })
  }
  return sum
}

async function requestOnce({ ports, path, model, headers }: Endpoint, signal: AbortSignal): Promise<Outcome> {
  const body = {
    model,
    messages: [{ role: 'user', content: ORDER }],
    max_tokens: CAP_TOKENS,
    stream: true,
    stream_options: { include_usage: true },
  }
  try {
    const response = await fetch(`http://127.0.0.1:${ports[0]}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    return outcomeOf(response.status, await response.text())
  } catch (error) {
    signal.throwIfAborted()
    return { kind: 'failed', reply: String((error as Error).cause ?? error) }
  }
}

/** Gateways refuse with 429, 402, 403 or 400; a stream that ends without `[DONE]` was not served. */
export function outcomeOf(status: number, text: string): Outcome {
  if (status === 200 && text.trimEnd().endsWith('data: [DONE]')) return { kind: 'served' }
  const reply = `${status} ${text.slice(0, EXCERPT)}`
  return { kind: status >= 400 && status < 500 ? 'refused' : 'failed', reply }
}
