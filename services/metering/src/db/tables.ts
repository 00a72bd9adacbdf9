/**
 * The tables of this service, written from its migrations by `packages/postgres/src/table-types.test.ts`.
 */

import type { ColumnType, Generated, GeneratedAlways, Kysely } from 'kysely'

export type MeteringDatabase = Kysely<MeteringTables>

export interface MeteringTables {
  'metering.daily_usage': {
    account: string
    day: Date
    model_asked: string
    unit: string
    requests: number
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    charge: number
  }
  'metering.ledger': {
    request_id: string
    rank: number
    account: string
    key_id: string
    plan: string
    unit: string
    window: string
    model_asked: string
    lane: string
    pool: string
    backend: string
    backend_model: string
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    reasoning_tokens: number
    estimated: boolean
    price: ColumnType<unknown, string, string>
    charge: number
    replaced_charge: number | null
    outcome: string
    delivered: boolean
    streamed: boolean
    attempts: ColumnType<unknown, string, string>
    started_at: Date
    ended_at: Date
    recorded_at: Generated<Date>
    plan_version: number | null
    cache_write_tokens: Generated<number>
    cache_write_hour_tokens: Generated<number>
    claim: string | null
    voided_by: string | null
    voided_charge: number | null
    tool_calls: ColumnType<unknown, string | undefined, string>
    vendor_cost_nano_usd: number | null
    audio_prompt_tokens: Generated<number>
    cached_audio_tokens: Generated<number>
    audio_completion_tokens: Generated<number>
    session_id: string | null
    agent_id: string | null
    parent_agent_id: string | null
    compaction: string | null
  }
  'metering.owed_totals': {
    id: GeneratedAlways<number>
    account: string
    window: string
    included: ColumnType<unknown, string, string>
    created_at: Generated<Date>
  }
  'metering.rejected': {
    digest: ColumnType<Buffer, Uint8Array, Uint8Array>
    payload: ColumnType<Buffer, Uint8Array, Uint8Array>
    reason: string
    stream_sequence: number
    rejected_at: Generated<Date>
  }
  'metering.session_usage': {
    account: string
    session_id: string
    agent_id: string
    day: Date
    unit: string
    requests: number
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    charge: number
  }
  'metering.windows': {
    account: string
    window: string
    milli_tokens: number
    nano_usd: number
    unit: string
    unit_since: Generated<Date>
    version: number
    plan_version: Generated<number>
  }
}
