/**
 * The same change writes the same row of the audit log, whichever way it comes. It may be a command on the bus, a call with an admin
 * key, or a call of the key's owner.
 */

import { randomUUID } from 'node:crypto'
import type { AuditLog } from '@gateway/contracts/administration/audit-logs'
import type { AdministerRequest, CallOrigin } from '@gateway/contracts/administration/envelope'
import { parseKey } from '@gateway/contracts/api-key'
import { groups, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashOf, minted, openKeysService, OPERATOR_CALL, type TestKeys } from '../../test/keys-service.ts'
import { call } from '../../test/projects.ts'
import { hashKey } from '../core/hashing.ts'
import { revokeKey as revokeOwnKey } from '../handlers/developer-keys.ts'
import { reconcile } from './reconcile.ts'
import { administer } from './administer.ts'
import { revokeKey, setOverage, setPlan, topUp } from './bus-commands.ts'

let postgres: PostgresServer
let keys: TestKeys
let adminKey: { id: string; value: string }
beforeAll(async () => {
  postgres = await startPostgres()
  keys = await openKeysService(postgres)
  await keys.bus.serve(subjects.meteringWarm, groups.metering, async () => Buffer.from('{"kind":"warmed"}'))
  adminKey = await call(keys, 'adminKeys.create', { name: 'terraform' })
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

const COMMAND_LINE: CallOrigin = { requestId: randomUUID(), address: null, userAgent: 'ctl' }
const { origin: CLIENT } = OPERATOR_CALL
const TOP_UP = { id: randomUUID(), amount: 5 }

interface Account {
  owner: { issuer: string; subject: string }
  tag: string
  keyId: string
  keyHash: string
}
type Way = (account: Account) => Promise<unknown>

function proof(): AdministerRequest['credential'] {
  return { kind: 'admin_key', hash: hashKey(adminKey.value).toString('base64url') }
}

/** The command line and the edge name the repairer. */
function repaired(by: () => Pick<AdministerRequest, 'credential' | 'origin'>): Way {
  return async ({ tag }) => {
    await keys.database.updateTable('keys.accounts').set({ overage: true }).where('tag', '=', tag).execute()
    const { drifts } = await reconcile(keys, { after: null, repair: true, by: by() }, 1)
    expect(drifts).toMatchObject([{ account: tag, kind: 'account', repaired: true }])
  }
}

function overHttp(operation: string, input: (account: Account) => Record<string, unknown>): Way {
  return async (account) => {
    const reply = await administer(keys, { operation, input: input(account), credential: proof(), origin: CLIENT })
    expect(reply).toMatchObject({ kind: 'done' })
  }
}
const changed = (change: Record<string, unknown>) =>
  overHttp('accounts.update', ({ tag }) => ({ account_id: tag, ...change }))
const origin = COMMAND_LINE

/** Each change, and its ways in. */
const CHANGES: Record<string, Record<string, Way>> = {
  'a plan': {
    bus: ({ tag }) => setPlan(keys, { subject: tag, plan: 'pro', origin }),
    http: changed({ plan: 'pro' }),
  },
  overage: {
    bus: ({ tag }) => setOverage(keys, { subject: tag, overage: true, origin }),
    http: changed({ overage: true }),
  },
  'a top-up': {
    bus: ({ tag }) => topUp(keys, { subject: tag, ...TOP_UP, id: randomUUID(), origin }),
    http: overHttp('accounts.topUp', ({ tag }) => ({ account_id: tag, ...TOP_UP, id: randomUUID() })),
  },
  'the end of a key': {
    bus: ({ keyId }) => revokeKey(keys, { keyId, origin }),
    http: overHttp('keys.revoke', ({ keyId }) => ({ key_id: keyId })),
    sdk: overHttp('apiKeys.delete', ({ tag, keyId }) => ({ project_id: `proj_${tag}`, api_key_id: `key_${keyId}` })),
    owner: ({ owner, keyHash }) => revokeOwnKey(keys, { owner, keyHash, origin: CLIENT }),
  },
  'a repair of the admission store': {
    bus: repaired(() => ({ credential: { kind: 'operator' }, origin: COMMAND_LINE })),
    http: repaired(() => ({ credential: proof(), origin: CLIENT })),
  },
}

async function newAccount(): Promise<Account> {
  const owner = { issuer: 'https://id.example', subject: randomUUID() }
  const { key } = await minted(keys, { owner })
  const { accountTag: tag, keyId } = parseKey(key)!
  return { owner, tag, keyId, keyHash: hashOf(key) }
}

async function rowsOf({ tag }: Account): Promise<AuditLog[]> {
  const { data } = await call(keys, 'auditLogs.list', { project_ids: [`proj_${tag}`], limit: 100 })
  // The oldest is the mint's.
  return data.slice(0, -1)
}

/** The actor and the origin of each way. */
const AS: Record<string, object> = {
  bus: { actor: { session: { user: { id: 'operator' } } }, request_id: COMMAND_LINE.requestId, user_agent: 'ctl' },
  http: { actor: { api_key: { id: expect.any(String) } }, request_id: CLIENT.requestId, ip_address: CLIENT.address },
  sdk: { actor: { api_key: { id: expect.any(String) } }, request_id: CLIENT.requestId, ip_address: CLIENT.address },
  owner: {
    actor: { session: { user: { id: expect.stringMatching(/^user-/) } } },
    request_id: CLIENT.requestId,
    ip_address: CLIENT.address,
  },
}

test.each(Object.entries(CHANGES))('%s is one row of one type, whichever way it comes', async (_, ways) => {
  const types = new Set<string>()
  const members = new Set<string>()
  for (const [way, make] of Object.entries(ways)) {
    const account = await newAccount()
    await make(account)
    const rows = await rowsOf(account)
    expect([way, rows.length]).toEqual([way, 1])
    const [row] = rows
    expect([way, row]).toMatchObject([way, { ...AS[way], project: { id: `proj_${account.tag}` } }])
    types.add(row!.type)
    members.add([Object.keys(row!.before ?? {}), Object.keys(row!.after ?? {})].join(' | '))
  }
  expect([...types]).toHaveLength(1)
  expect([...members]).toHaveLength(1)
})
