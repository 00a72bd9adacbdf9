/**
 * Usage events for tests: complete and valid, with a test's own values in place.
 */

import { randomBytes } from 'node:crypto'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { DurableMessage } from '@gateway/bus/port'

export const WINDOW = '2025-01'
export const IN_WINDOW_MS = Date.parse('2025-01-10T12:00:00Z')

export function requestIdAt(timeMs: number): string {
  const time = timeMs.toString(16).padStart(12, '0')
  const random = randomBytes(10).toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}

export function usageEvent(given: Partial<UsageEvent> & { tokens?: number } = {}): UsageEvent {
  const { tokens = 100, ...rest } = given
  const startedAtMs = rest.startedAtMs ?? IN_WINDOW_MS
  return {
    requestId: requestIdAt(startedAtMs),
    reporter: 'edge',
    account: 'acct0001',
    keyId: 'key00001',
    plan: 'free',
    unit: 'tokens',
    window: WINDOW,
    modelAsked: 'svc-fast',
    lane: 'svc-fast',
    pool: 'bolt',
    backend: 'gpu-a',
    backendModel: 'Qwen3-8B',
    usage: { promptTokens: tokens - 10, completionTokens: 10, cachedTokens: 0, reasoningTokens: 0, estimated: false },
    price: { kind: 'multiplier', milliTokensPerToken: 1500 },
    outcome: 'completed',
    delivered: true,
    streamed: false,
    attempts: [{ backend: 'gpu-a', model: 'Qwen3-8B', outcome: 'served', durationMs: 12.5 }],
    startedAtMs,
    endedAtMs: startedAtMs + 250,
    ...rest,
  }
}

export function messageOf(...events: unknown[]): DurableMessage {
  return { payload: Buffer.from(JSON.stringify({ v: 1, events })), sequence: 1, redelivered: false }
}
