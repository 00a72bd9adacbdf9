import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { OPERATOR_CALL, openKeysService, type TestKeys } from '../test/keys-service.ts'
import { call, refusalOf } from '../test/projects.ts'
import { openRefusedSignIns, ROWS_PER_MINUTE } from './refused-sign-ins.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

interface Failure {
  type: string
  'login.failed': { error_code: string; count: number }
}

async function failures(): Promise<Failure[]> {
  return (await call(keys, 'auditLogs.list', { limit: '100' })).data as unknown as Failure[]
}

test('a forged token and an unknown admin key are failed logins in the audit log, with the address', async () => {
  const forged = {
    ...OPERATOR_CALL,
    credential: { kind: 'refused' as const, code: 'INVALID_TOKEN' as const, count: 3 },
  }
  expect(await refusalOf(keys, 'projects.list', {}, forged)).toBe('INVALID_TOKEN')
  const hash = Buffer.alloc(32).toString('base64url')
  const unknown = { ...OPERATOR_CALL, credential: { kind: 'admin_key' as const, hash } }
  expect(await refusalOf(keys, 'projects.list', {}, unknown)).toBe('INVALID_KEY')
  await expect.poll(failures).toHaveLength(2)
  const rows = await failures()
  expect(rows.map((row) => row['login.failed'].error_code).toSorted()).toEqual(['INVALID_KEY', 'INVALID_TOKEN'])
  expect(rows.map((row) => row['login.failed'].count)).toEqual(expect.arrayContaining([1, 3]))
  expect(rows[0]).toMatchObject({ type: 'login.failed', actor: { session: { ip_address: '203.0.113.7' } } })
})

test('a flood of refused sign-ins writes a few rows, which count them all', async () => {
  {
    await using refused = openRefusedSignIns(keys)
    for (let index = 0; index < 5_000; index++) {
      refused.note({ code: 'INVALID_TOKEN', message: 'The token is not valid', count: 1 }, OPERATOR_CALL.origin)
    }
  }
  const counts = (await failures()).map((row) => row['login.failed'].count)
  expect(counts).toHaveLength(ROWS_PER_MINUTE + 1)
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5_000)
})

test('the next minute has rows of its own', async () => {
  await using refused = openRefusedSignIns(keys, 100)
  const note = () => refused.note({ code: 'INVALID_KEY', message: 'unknown', count: 1 }, OPERATOR_CALL.origin)
  for (let index = 0; index < ROWS_PER_MINUTE + 3; index++) note()
  await expect.poll(async () => (await failures()).length).toBe(ROWS_PER_MINUTE + 1)
  note()
  await expect.poll(async () => (await failures()).length).toBe(ROWS_PER_MINUTE + 2)
})
