/**
 * A row of the ledger as PostgreSQL writes it as JSON.
 */

import type { LedgerRow } from '../src/exports/core/entries.ts'

export function ledgerRow(given: Partial<LedgerRow> = {}): LedgerRow {
  return {
    request_id: '0194505c-8a00-7000-8000-000000000001',
    rank: 2,
    account: 'acct0001',
    key_id: 'key00001',
    plan: 'pay-as-you-go',
    unit: 'usd',
    window: '2025-01',
    model_asked: 'svc-fast',
    lane: 'svc-fast',
    pool: 'bolt',
    backend: 'gpu-a',
    backend_model: 'Qwen3-8B',
    prompt_tokens: 90,
    completion_tokens: 10,
    cached_tokens: 0,
    reasoning_tokens: 0,
    estimated: false,
    price: { kind: 'multiplier', milliTokensPerToken: 1500 },
    charge: 1,
    outcome: 'completed',
    delivered: true,
    streamed: false,
    attempts: [{ backend: 'gpu-a', outcome: 'served' }],
    started_at: '2025-01-10T12:00:00.123+00:00',
    ended_at: '2025-01-10T12:00:01+00:00',
    tags: { team: 'search "ß"' },
    ...given,
  }
}
