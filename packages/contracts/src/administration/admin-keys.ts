/**
 * The keys of administrators.
 */

import * as z from 'zod'
import { cursor, deleted, givenName, listOf, nothing, order, unixTime, type Operation } from './operation.ts'

const adminKey = z.object({
  /** `key_` + the key id. */
  id: z.string(),
  object: z.literal('organization.admin_api_key'),
  name: z.string().nullable(),
  redacted_value: z.string(),
  created_at: unixTime,
  expires_at: unixTime.nullable(),
  last_used_at: unixTime.nullable(),
  /** The administrator who created it. */
  owner: z.object({
    type: z.literal('user'),
    object: z.literal('organization.user'),
    id: z.string(),
    name: z.string(),
    created_at: unixTime,
    role: z.literal('owner'),
  }),
})
export type AdminKey = z.input<typeof adminKey>

const ADMIN_KEYS = '/v1/organization/admin_api_keys'
const ADMIN_KEY = '/v1/organization/admin_api_keys/{key_id}'

export const adminKeyOperations = {
  'adminKeys.list': {
    method: 'GET',
    path: ADMIN_KEYS,
    service: 'keys',
    access: 'reader',
    query: z.strictObject({ ...cursor, ...order }),
    body: nothing,
    output: listOf(adminKey),
    about: 'lists the live admin keys, oldest first',
  },
  'adminKeys.create': {
    method: 'POST',
    path: ADMIN_KEYS,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: z.strictObject({ name: givenName, expires_in_seconds: z.int().min(1).max(3_153_600_000).nullish() }),
    output: z.object({ ...adminKey.shape, value: z.string() }),
    about: 'creates an admin key; its value is in this response only',
    deviation: 'the key stays when the person who created it loses the role',
  },
  'adminKeys.retrieve': {
    method: 'GET',
    path: ADMIN_KEY,
    service: 'keys',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: adminKey,
    about: 'shows an admin key, without its value',
  },
  'adminKeys.delete': {
    method: 'DELETE',
    path: ADMIN_KEY,
    service: 'keys',
    access: 'owner',
    query: nothing,
    body: nothing,
    output: deleted('organization.admin_api_key.deleted'),
    about: 'revokes an admin key at once',
  },
} as const satisfies Record<string, Operation>
