/**
 * A page of projects costs the same with any number of personal accounts.
 */

import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { sql, type Transaction } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openKeysService, type TestKeys } from '../../test/keys-service.ts'
import { call } from '../../test/projects.ts'
import { listProjectViews } from './project-views.ts'
import { listProjectRows } from './projects.ts'
import type { KeysTables } from './tables.ts'

const ACCOUNTS = 20_000
const LIMIT = 20
/** A list that reads all accounts reads at least twenty times as many. Parallel workers read ahead of the page. */
const LITTLE = ACCOUNTS / 20

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => {
  postgres = await startPostgres()
  keys = await openKeysService(postgres)
  await sql`
    insert into keys.accounts (tag, kind, issuer, subject, plan, created_at)
    select lpad(number::text, 8, '0'), 'developer', 'https://id.example', 'person-' || number, 'free',
      now() - number * interval '1 minute'
    from generate_series(1, ${ACCOUNTS}) as number`.execute(keys.database)
  for (const name of ['ads', 'maps', 'old']) await call(keys, 'projects.create', { name })
  const { data } = await call(keys, 'projects.list', { limit: 1 })
  await call(keys, 'projects.archive', { project_id: data[0]!.id })
})
afterAll(async () => {
  await keys?.[Symbol.asyncDispose]()
  await postgres?.[Symbol.asyncDispose]()
})

/** The accounts that PostgreSQL reads for it. */
function accountsRead(list: (transaction: Transaction<KeysTables>) => Promise<unknown>): Promise<number> {
  return keys.database.transaction().execute(async (transaction) => {
    await list(transaction)
    const { rows } = await sql<{ read: number }>`
      select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables
      where relid = 'keys.accounts'::regclass`.execute(transaction)
    return rows[0]!.read
  })
}

const viewed = { plans: [{ slug: 'free', unit: 'tokens', limit: 1_000 }] as const, member: null, search: undefined }
const all = { limit: LIMIT, withArchived: false }

test.each(['never analysed', 'analysed'])('a page, first or later, reads few of the accounts: %s', async (which) => {
  if (which === 'analysed') await sql`analyze keys.accounts, keys.projects`.execute(keys.database)
  for (const after of [undefined, '00010000']) {
    const ofList = await accountsRead((database) => listProjectRows(database, { ...all, after, among: null }))
    const ofViews = await accountsRead((database) =>
      listProjectViews(database, { ...viewed, ...all, after, withPersonal: true, mine: false, order: 'newest' }),
    )
    expect(ofList).toBeLessThan(LITTLE)
    expect(ofViews).toBeLessThan(LITTLE)
  }
})
