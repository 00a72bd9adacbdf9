/**
 * The keys of administrators: created, listed and revoked. Each call reads its key again, so a revoked one opens nothing after the
 * reply.
 */

import { randomBytes } from 'node:crypto'
import type { AdminKey } from '@gateway/contracts/administration/admin-keys'
import { formatAdminKey, maskAdminKey } from '@gateway/contracts/admin-key'
import { KEY_SECRET_LENGTH, randomBase62 } from '@gateway/contracts/api-key'
import { GatewayError } from '@gateway/contracts/errors'
import { hashKey } from '../core/hashing.ts'
import { newKeyId } from '../core/new-key.ts'
import { findAdminKey, insertAdminKey, listAdminKeys, revokeAdminKey, type AdminKeyRow } from '../db/admin-keys.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { toPage, unixSeconds, withoutPrefix } from './pages.ts'

const PREFIX = 'key_'

function view(key: AdminKeyRow): AdminKey {
  const createdAt = unixSeconds(key.createdAt)
  return {
    id: `${PREFIX}${key.keyId}`,
    object: 'organization.admin_api_key',
    name: key.name,
    redacted_value: maskAdminKey(key.keyId),
    created_at: createdAt,
    expires_at: key.expiresAt && unixSeconds(key.expiresAt),
    last_used_at: key.lastUsedAt && unixSeconds(key.lastUsedAt),
    owner: {
      type: 'user',
      object: 'organization.user',
      id: key.createdBy,
      name: key.createdByName,
      created_at: createdAt,
      role: 'owner',
    },
  }
}

export const adminKeyHandlers = {
  'adminKeys.list': async ({ transaction }, { after, limit, order = 'asc' }) => {
    const keyId = after && withoutPrefix(PREFIX, after)
    return toPage(await listAdminKeys(transaction, { after: keyId, limit, order }), view)
  },

  'adminKeys.create': async ({ transaction, caller, audit }, { name, expires_in_seconds: seconds }) => {
    const keyId = newKeyId()
    const value = formatAdminKey({ keyId, secret: randomBase62(KEY_SECRET_LENGTH, randomBytes) })
    const createdBy = { createdBy: caller.id, createdByName: caller.name }
    const key = { keyId, hash: hashKey(value), name, expiresInSeconds: seconds ?? null }
    await insertAdminKey(transaction, { ...key, ...createdBy })
    const shown = view((await findAdminKey(transaction, keyId))!)
    const { id, expires_at } = shown
    audit({ type: 'tenant.admin_api_key.created', details: { id, data: { name, expires_at } } })
    return { ...shown, value }
  },

  'adminKeys.retrieve': async (call, { key_id: id }) => {
    const key = await find(call, id)
    if (key.revokedAt) throw unknown(id)
    return view(key)
  },

  'adminKeys.delete': async (call, { key_id: id }) => {
    const { keyId, name } = await find(call, id)
    const isNew = await revokeAdminKey(call.transaction, keyId)
    if (isNew) call.audit({ type: 'tenant.admin_api_key.deleted', details: { id }, before: { name } })
    return { id, object: 'organization.admin_api_key.deleted' as const, deleted: true as const }
  },
} satisfies Partial<AdministrationHandlers>

async function find({ transaction }: AdministrationCall, id: string): Promise<AdminKeyRow> {
  const key = await findAdminKey(transaction, withoutPrefix(PREFIX, id))
  if (!key) throw unknown(id)
  return key
}

function unknown(id: string): GatewayError {
  return new GatewayError('NOT_FOUND', `There is no admin key ${id}`)
}
