/**
 * The tables of this service, written from its migrations by `packages/postgres/src/table-types.test.ts`.
 */

import type { ColumnType, Generated, GeneratedAlways, Kysely } from 'kysely'

export type MeteringDatabase = Kysely<MeteringTables>

export interface MeteringTables {
  'metering.backend_states': {
    backend: string
    is_out: boolean
    changes: number
  }
  'metering.channels': {
    channel: string
    configured_at: Date
  }
  'metering.daily_usage': {
    account: string | null
    day: Date | null
    model_asked: string | null
    unit: string | null
    requests: number | null
    prompt_tokens: number | null
    completion_tokens: number | null
    cached_tokens: number | null
    charge: number | null
  }
  'metering.deliveries': {
    id: GeneratedAlways<number>
    channel: string
    recipient: Generated<string>
    event_id: string
    type: string
    line: string
    payload: string
    state: Generated<'waiting' | 'delivered' | 'dead'>
    attempts: Generated<number>
    created_at: Generated<Date>
    since: Generated<Date>
    due_at: Generated<Date>
    ended_at: Date | null
    fault: string | null
  }
  'metering.disabled_webhooks': {
    channel: string
    fingerprint: string
    disabled_at: Generated<Date>
  }
  'metering.export_changes': {
    id: GeneratedAlways<number>
    queue: string
    request_id: string
    former: ColumnType<unknown, string, string>
    part: number | null
  }
  'metering.export_notes': {
    queue: string
    day: Date
    request_ids: string[]
  }
  'metering.export_parts': {
    queue: string
    part: number
    day: Date
    closed_through: Date | null
    request_ids: string[]
  }
  'metering.exports': {
    id: string
    queue: string
    is_noting: Generated<boolean>
    has_begun: Generated<boolean>
    leased_by: string | null
    leased_until: Generated<Date>
    named_at: Generated<Date>
    closed_through: Date | null
    part: Generated<number>
    run_requested_at: Date | null
    last_file: string | null
    last_written_at: Date | null
    files: Generated<number>
    rows: Generated<number>
    corrections: Generated<number>
    last_error: string | null
    failed_at: Date | null
  }
  'metering.key_windows': {
    account: string
    key_id: string
    window: string
    milli_tokens: number
    nano_usd: number
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
    kind: string | null
    is_project: Generated<boolean>
    user_id: string | null
    end_user: string | null
    tags: ColumnType<unknown, string | null | undefined, string | null>
    images: Generated<number>
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
  'metering.tags': {
    account: string
    window: string
    tag: string
  }
  'metering.usage_by_account': {
    account: string
    day: Date
    unit: string
    requests: number
    charge: number
  }
  'metering.usage_by_day': {
    account: string
    day: Date
    model_asked: string
    key_id: string
    user_id: string
    kind: string
    unit: string
    requests: number
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    cache_write_tokens: number
    audio_prompt_tokens: number
    cached_audio_tokens: number
    audio_completion_tokens: number
    units: number
    charge: number
  }
  'metering.usage_by_minute': {
    account: string
    begins: Date
    model_asked: string
    key_id: string
    user_id: string
    kind: string
    unit: string
    requests: number
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    cache_write_tokens: number
    audio_prompt_tokens: number
    cached_audio_tokens: number
    audio_completion_tokens: number
    units: number
    charge: number
  }
  'metering.usage_by_tag': {
    account: string
    day: Date
    tag: string
    model_asked: string
    kind: string
    unit: string
    requests: number
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    cache_write_tokens: number
    audio_prompt_tokens: number
    cached_audio_tokens: number
    audio_completion_tokens: number
    units: number
    charge: number
  }
  'metering.usage_in_all': {
    part: string | null
    day: Date | null
    name: string | null
    model_asked: string | null
    kind: string | null
    unit: string | null
    requests: number | null
    prompt_tokens: number | null
    completion_tokens: number | null
    cached_tokens: number | null
    cache_write_tokens: number | null
    audio_prompt_tokens: number | null
    cached_audio_tokens: number | null
    audio_completion_tokens: number | null
    units: number | null
    charge: number | null
  }
  'metering.usage_notes': {
    account: string
    begins: Date
    model_asked: string
    key_id: string
    user_id: string
    kind: string
    unit: string
    tag: string | null
    requests: number
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    cache_write_tokens: number
    audio_prompt_tokens: number
    cached_audio_tokens: number
    audio_completion_tokens: number
    units: number
    charge: number
  }
  'metering.usage_of_accounts': {
    account: string | null
    day: Date | null
    unit: string | null
    requests: number | null
    charge: number | null
  }
  'metering.usage_of_days': {
    account: string | null
    day: Date | null
    model_asked: string | null
    key_id: string | null
    user_id: string | null
    kind: string | null
    unit: string | null
    requests: number | null
    prompt_tokens: number | null
    completion_tokens: number | null
    cached_tokens: number | null
    cache_write_tokens: number | null
    audio_prompt_tokens: number | null
    cached_audio_tokens: number | null
    audio_completion_tokens: number | null
    units: number | null
    charge: number | null
  }
  'metering.usage_of_minutes': {
    account: string | null
    begins: Date | null
    model_asked: string | null
    key_id: string | null
    user_id: string | null
    kind: string | null
    unit: string | null
    requests: number | null
    prompt_tokens: number | null
    completion_tokens: number | null
    cached_tokens: number | null
    cache_write_tokens: number | null
    audio_prompt_tokens: number | null
    cached_audio_tokens: number | null
    audio_completion_tokens: number | null
    units: number | null
    charge: number | null
  }
  'metering.usage_of_organization': {
    part: string
    day: Date
    name: string
    model_asked: string
    kind: string
    unit: string
    requests: number
    prompt_tokens: number
    completion_tokens: number
    cached_tokens: number
    cache_write_tokens: number
    audio_prompt_tokens: number
    cached_audio_tokens: number
    audio_completion_tokens: number
    units: number
    charge: number
  }
  'metering.usage_of_tags': {
    account: string | null
    day: Date | null
    tag: string | null
    model_asked: string | null
    kind: string | null
    unit: string | null
    requests: number | null
    prompt_tokens: number | null
    completion_tokens: number | null
    cached_tokens: number | null
    cache_write_tokens: number | null
    audio_prompt_tokens: number | null
    cached_audio_tokens: number | null
    audio_completion_tokens: number | null
    units: number | null
    charge: number | null
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
