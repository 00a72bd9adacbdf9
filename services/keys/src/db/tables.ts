/**
 * The tables of this service, written from its migrations by `packages/postgres/src/table-types.test.ts`.
 */

import type { ColumnType, Generated, GeneratedAlways, Kysely } from 'kysely'

export type KeysDatabase = Kysely<KeysTables>

export interface KeysTables {
  'keys.accounts': {
    tag: string
    kind: 'developer' | 'guest'
    issuer: string | null
    subject: string | null
    device_hash: ColumnType<Buffer | null, Uint8Array | null | undefined, Uint8Array | null>
    plan: string
    overage: Generated<boolean>
    version: Generated<number>
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
    status: Generated<'active' | 'deactivated'>
    version: number
    created_at: Generated<Date>
    deactivated_at: Date | null
    last_used_at: Date | null
    end_ticket: string | null
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
  'keys.secrets': {
    name: string
    sealed: ColumnType<Buffer, Uint8Array, Uint8Array>
    master_key_id: string
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
}
