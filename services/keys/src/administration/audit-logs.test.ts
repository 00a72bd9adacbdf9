import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { CompiledQuery } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf } from '../../test/projects.ts'
import { deleteOldRows } from '../db/audit-log.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const OWNER = personCall({ subject: 'olga', role: 'owner', name: 'Olga', email: 'Olga@example.org' })
const READER = personCall({ subject: 'rita', role: 'reader' })

const list = (input: Record<string, unknown> = {}) => call(keys, 'auditLogs.list', input, READER)
const verify = (input: Record<string, unknown> = {}) => call(keys, 'audit.verify', input, READER)
const types = async (input: Record<string, unknown>) => (await list(input)).data.map(({ type }) => type)

test('a change names its actor with the address, its object, and the values before and after', async () => {
  const { id } = await call(keys, 'projects.create', { name: 'Search' }, OWNER)
  await call(keys, 'projects.update', { project_id: id, name: 'Find' }, OWNER)
  const { data } = await list()
  expect(data).toHaveLength(2)
  expect(data[0]).toMatchObject({
    id: 'audit_log-0000000000000002',
    type: 'project.updated',
    effective_at: expect.any(Number),
    project: { id, name: 'Find' },
    actor: {
      type: 'session',
      session: {
        user: { id: expect.stringMatching(/^user-/), email: 'Olga@example.org' },
        ip_address: '203.0.113.7',
        user_agent: 'test/1',
      },
    },
    'project.updated': { id, changes_requested: { name: 'Find', title: 'Find' } },
    request_id: '018f6f00-0000-7000-8000-000000000001',
    before: { name: 'Search' },
    after: { name: 'Find' },
  })
})

test('a row is found by its id, as the list shows it', async () => {
  await call(keys, 'projects.create', { name: 'Search' }, OWNER)
  const [listed] = (await list()).data
  expect(await call(keys, 'auditLogs.retrieve', { audit_log_id: listed!.id }, READER)).toEqual(listed)
  for (const audit_log_id of ['audit_log-0000000000000009', 'unknown'])
    expect(await refusalOf(keys, 'auditLogs.retrieve', { audit_log_id }, READER)).toBe('NOT_FOUND')
})

test('a refused change and a change that changes nothing leave no row', async () => {
  const { id } = await call(keys, 'projects.create', { name: 'Search' }, OWNER)
  await call(keys, 'projects.update', { project_id: id, name: 'Search' }, OWNER)
  expect(await refusalOf(keys, 'projects.create', { name: 'x' }, READER)).toBe('FORBIDDEN')
  expect(await refusalOf(keys, 'projects.create', { name: 'x', plan: 'none' }, OWNER)).toBe('VALIDATION_ERROR plan')
  expect(await types({})).toEqual(['project.created'])
})

test('each filter of OpenAI finds its rows', async () => {
  const a = await call(keys, 'projects.create', { name: 'A' }, OWNER)
  const b = await call(keys, 'projects.create', { name: 'B' })
  await call(keys, 'adminKeys.create', { name: 'ci' }, OWNER)
  const olga = (await call(keys, 'users.list', { emails: ['olga@EXAMPLE.org'] }, READER)).data[0]!.id
  const now = Math.floor(Date.now() / 1_000)
  expect(await types({ project_ids: [a.id] })).toEqual(['project.created'])
  expect(await types({ event_types: ['project.created'] })).toEqual(['project.created', 'project.created'])
  expect(await types({ actor_ids: [olga] })).toEqual(['tenant.admin_api_key.created', 'project.created'])
  expect(await types({ actor_ids: ['operator'] })).toEqual(['project.created'])
  expect(await types({ actor_emails: ['OLGA@example.org'] })).toEqual([
    'tenant.admin_api_key.created',
    'project.created',
  ])
  expect(await types({ resource_ids: [b.id] })).toEqual(['project.created'])
  expect(await types({ effective_at: { gt: String(now + 60) } })).toEqual([])
  expect(await types({ effective_at: { gte: String(now - 60), lte: String(now + 60) } })).toHaveLength(3)
  expect(await types({ effective_at: { lt: String(now - 60) } })).toEqual([])
  expect(await types({ tenant_only: 'true' })).toEqual([])
})

test('pages go both ways and hold still while others write', async () => {
  for (let index = 1; index <= 7; index++) await call(keys, 'projects.create', { name: `p${index}` })
  const first = await list({ limit: '3' })
  await call(keys, 'projects.create', { name: 'late' })
  const second = await list({ limit: '3', after: first.last_id })
  const third = await list({ limit: '3', after: second.last_id })
  const ids = [first, second, third].flatMap(({ data }) => data.map(({ id }) => id))
  expect(ids).toEqual([7, 6, 5, 4, 3, 2, 1].map((seq) => `audit_log-${String(seq).padStart(16, '0')}`))
  expect([first, second, third].map(({ has_more }) => has_more)).toEqual([true, true, false])
  const back = await list({ limit: '3', before: third.first_id })
  expect(back.data.map(({ id }) => id)).toEqual(second.data.map(({ id }) => id))
})

test('many writers at once make one chain, without a gap', async () => {
  await Promise.all(Array.from({ length: 60 }, (_, index) => call(keys, 'projects.create', { name: `p${index}` })))
  expect(await verify()).toMatchObject({ checked: 60, last_id: 'audit_log-0000000000000060', problem: null })
})

test('a writer whose connection is cut before its commit leaves neither the change nor a row', async () => {
  await call(keys, 'projects.create', { name: 'before' })
  const cut = keys.database.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('keys.groups')
      .values({ id: `group_${'0'.repeat(32)}`, name: 'lost' })
      .execute()
    const { rows } = await transaction.executeQuery<{ pid: number }>(
      CompiledQuery.raw(`select pg_backend_pid() as pid, keys.append_to_audit_log(array['{"type":"group.created"}'])`),
    )
    await keys.urgent.executeQuery(CompiledQuery.raw('select pg_terminate_backend($1)', [rows[0]!.pid]))
  })
  await expect(cut).rejects.toThrow()
  await call(keys, 'projects.create', { name: 'after' })
  expect(await verify()).toMatchObject({ checked: 2, problem: null })
  expect(await keys.database.selectFrom('keys.groups').selectAll().execute()).toEqual([])
})

const TAMPERINGS = [
  ['changed', `update keys.audit_log set entry = replace(entry, 'p3', 'p9') where seq = 3`, 3],
  ['changed', `update keys.audit_log set at_ms = at_ms - 1 where seq = 4`, 4],
  ['removed', `delete from keys.audit_log where seq = 2`, 2],
  ['removed', `delete from keys.audit_log where seq = 5`, 5],
  [
    'inserted',
    `insert into keys.audit_log (seq, at_ms, entry, previous, hash) select 6, at_ms, entry, hash, hash from keys.audit_log where seq = 5`,
    6,
  ],
] as const

test.each(TAMPERINGS)('a row that is %s in the database is named (%#)', async (kind, statement, seq) => {
  for (let index = 1; index <= 5; index++) await call(keys, 'projects.create', { name: `p${index}` })
  expect((await verify()).problem).toBeNull()
  await keys.database.query(statement)
  const id = `audit_log-${String(seq).padStart(16, '0')}`
  expect((await verify()).problem).toMatchObject({ kind, id })
})

test('the verification goes on in pages from a hash that an operator has noted', async () => {
  await call(keys, 'projects.create', { name: 'p1' })
  const noted = await verify()
  await call(keys, 'projects.create', { name: 'p2' })
  const from = { after: noted.last_id, hash: noted.last_hash }
  expect(await verify(from)).toMatchObject({ checked: 1, has_more: false, problem: null })
  await keys.database.query(`update keys.audit_log set previous = hash where seq = 2`)
  expect((await verify(from)).problem).toMatchObject({ kind: 'changed', id: 'audit_log-0000000000000002' })
})

test('retention deletes old rows, and the rest still verifies', async () => {
  for (let index = 1; index <= 5; index++) await call(keys, 'projects.create', { name: `p${index}` })
  const { rows } = await keys.database.query<{ at: number }>('select at_ms as at from keys.audit_log where seq = 5')
  await keys.database.query(`update keys.audit_log set at_ms = at_ms where seq < 3`)
  expect(await deleteOldRows(keys.database, rows[0]!.at + 1, 3)).toBe(3)
  expect(await verify()).toMatchObject({ checked: 2, problem: null })
  expect(await deleteOldRows(keys.database, rows[0]!.at + 1, 3)).toBe(1)
  expect(await deleteOldRows(keys.database, rows[0]!.at + 1, 3)).toBe(0)
  await call(keys, 'projects.create', { name: 'p6' })
  expect(await verify()).toMatchObject({ checked: 2, problem: null })
  expect(await verify({ after: 'audit_log-0000000000000001' })).toMatchObject({ checked: 2, problem: null })
})
