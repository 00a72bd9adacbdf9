/**
 * The tables of this service, written from its migrations by `packages/postgres/src/table-types.test.ts`.
 */

import type { ColumnType, Generated, GeneratedAlways, Kysely } from 'kysely'

export type KeysDatabase = Kysely<KeysTables>

export interface KeysTables {
  'keys.accounts': {
    tag: string
    kind: 'developer' | 'guest' | 'project'
    issuer: string | null
    subject: string | null
    device_hash: ColumnType<Buffer | null, Uint8Array | null | undefined, Uint8Array | null>
    plan: string
    overage: Generated<boolean>
    version: Generated<number>
    created_at: Generated<Date>
    suspended_at: Date | null
  }
  'keys.admin_keys': {
    key_id: string
    hash: ColumnType<Buffer, Uint8Array, Uint8Array>
    name: string
    created_by: string
    created_by_name: string
    created_at: Generated<Date>
    expires_at: Date | null
    last_used_at: Date | null
    revoked_at: Date | null
  }
  'keys.audit_head': {
    is_only: Generated<boolean>
    seq: Generated<number>
    at_ms: Generated<number>
    hash: ColumnType<Buffer, Uint8Array | undefined, Uint8Array>
    anchor_seq: Generated<number>
    anchor_hash: ColumnType<Buffer, Uint8Array | undefined, Uint8Array>
  }
  'keys.audit_log': {
    seq: number
    at_ms: number
    entry: string
    previous: ColumnType<Buffer, Uint8Array, Uint8Array>
    hash: ColumnType<Buffer, Uint8Array, Uint8Array>
    type: Generated<string>
    project: Generated<string | null>
    actors: Generated<string[]>
    actor_email: Generated<string | null>
    resources: Generated<string[]>
  }
  'keys.backend_controls': {
    backend: string
    control: 'ejected' | 'drained'
    changed_at: Generated<Date>
  }
  'keys.events': {
    id: string
    kind: 'spend_alert' | 'key'
    payload: ColumnType<unknown, string, string>
    created_at: Generated<Date>
    published_at: Date | null
    seq: GeneratedAlways<number>
  }
  'keys.groups': {
    id: string
    name: string
    created_at: Generated<Date>
  }
  'keys.guest_networks': {
    network_hash: ColumnType<Buffer, Uint8Array, Uint8Array>
    minted_at: Generated<Date[]>
  }
  'keys.keys': {
    key_id: string
    account: string
    hash: ColumnType<Buffer, Uint8Array, Uint8Array>
    sealed: ColumnType<Buffer, Uint8Array, Uint8Array>
    master_key_id: string
    status: Generated<'active' | 'suspended' | 'deactivated'>
    version: number
    created_at: Generated<Date>
    deactivated_at: Date | null
    last_used_at: Date | null
    end_ticket: string | null
  }
  'keys.model_limits': {
    account: string
    model: string
    requests_per_minute: number | null
    tokens_per_minute: number | null
    requests_per_day: number | null
  }
  'keys.organization_spending': {
    window: string
    milli_tokens: string
    nano_usd: string
  }
  'keys.outbox': {
    id: GeneratedAlways<number>
    account: string
    key_id: string | null
    reason: string
    created_at: Generated<Date>
    attempts: Generated<number>
    next_try_at: Generated<Date>
  }
  'keys.project_groups': {
    account: string
    group_id: string
    role: 'member' | 'owner'
    added_at: Generated<Date>
  }
  'keys.project_keys': {
    key_id: string
    account: string
    hash: ColumnType<Buffer, Uint8Array, Uint8Array>
    name: string
    service_account: string | null
    created_by: string | null
    created_by_name: string | null
    expires_at: Date | null
    models: string[] | null
    monthly_limit: number | null
    monthly_unit: 'tokens' | 'usd' | null
    requests_per_minute: number | null
    tokens_per_minute: number | null
    version: number
    created_at: Generated<Date>
    deactivated_at: Date | null
    last_used_at: Date | null
  }
  'keys.project_limits': {
    account: string
    spend_cents: number | null
    allowance_tokens: number | null
    model_mode: 'allow_list' | 'deny_list' | null
    model_ids: Generated<string[]>
    hosted_tools: Generated<string[]>
    policy_version: Generated<number>
  }
  'keys.project_outbox': {
    id: GeneratedAlways<number>
    account: string
    version: number
    reason: string
    created_at: Generated<Date>
    attempts: Generated<number>
    next_try_at: Generated<Date>
  }
  'keys.project_users': {
    account: string
    user_id: string
    role: 'member' | 'owner'
    added_at: Generated<Date>
  }
  'keys.projects': {
    account: string
    name: string
    archived_at: Date | null
    archived_version: number | null
  }
  'keys.replaced_values': {
    hash: ColumnType<Buffer, Uint8Array, Uint8Array>
    key_id: string
    account: string
    version: number
  }
  'keys.secrets': {
    name: string
    sealed: ColumnType<Buffer, Uint8Array, Uint8Array>
    master_key_id: string
  }
  'keys.service_accounts': {
    id: string
    account: string
    name: string
    role: Generated<'member' | 'owner'>
    created_at: Generated<Date>
    deleted_at: Date | null
    deleted_version: number | null
  }
  'keys.spend_alerts': {
    id: string
    account: string | null
    threshold_cents: number | null
    allowance_tokens: number | null
    recipients: string[]
    subject_prefix: string | null
    changed_at: Generated<Date>
  }
  'keys.spending': {
    window: string
    account: string
    milli_tokens: number
    nano_usd: number
    version: Generated<number>
  }
  'keys.thresholds': {
    account: string
    window: string
    percent: number
    plan: string
    unit: 'tokens' | 'usd'
    used: number
    limit: number
    passed_at: Generated<Date>
    announced_at: Date | null
  }
  'keys.top_ups': {
    id: string
    account: string
    window: string
    unit: 'tokens' | 'usd'
    amount: number
    created_at: Generated<Date>
  }
  'keys.users': {
    id: string
    issuer: string
    subject: string
    email: string | null
    name: string | null
    role: 'reader' | 'owner' | null
    groups: Generated<string[]>
    added_at: Generated<Date>
    seen_at: Generated<Date>
    removed_at: Date | null
  }
}
