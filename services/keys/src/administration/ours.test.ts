/** `/admin/v1` as the keys service serves it: accounts, backends, keys by their ids. */

import { type OperationName, operations } from '@gateway/contracts/administration/operations'
import type { Operation } from '@gateway/contracts/administration/operation'
import type { backendControlsReply } from '@gateway/contracts/routers-api'
import { rpcClient } from '@gateway/rpc/client'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type * as z from 'zod'
import { OPERATOR_CALL, openKeysService, personCall, type TestCaller, type TestKeys } from '../../test/keys-service.ts'
import { readControls, setControl } from '../db/backend-controls.ts'
import { administer } from './administer.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const call = (operation: string, input: Record<string, unknown>, caller: TestCaller = OPERATOR_CALL) =>
  administer(keys, { operation, input, ...caller })

async function done<Output = Record<string, unknown>>(...parameters: Parameters<typeof call>): Promise<Output> {
  const reply = await call(...parameters)
  if (reply.kind === 'refused') throw new Error(reply.message)
  // The reply has the members of its row, and no others.
  expect(operations[parameters[0] as OperationName].output.parse(reply.output)).toEqual(reply.output)
  return (reply as { output: Output }).output
}

const auditTypes = async () =>
  (await keys.database.selectFrom('keys.audit_log').select('type').orderBy('seq').execute()).map(({ type }) => type)

const newProject = async () => (await done<{ id: string }>('projects.create', { name: 'Search' })).id

test("a project's account changes its overage, audited with the values before and after", async () => {
  const id = await newProject()
  const changed = await done('accounts.update', { account_id: id, overage: true })
  expect(changed).toMatchObject({ id, plan: 'free', overage: true })
  expect(await done('accounts.retrieve', { account_id: id })).toEqual(changed)
  // By its tag, as the command line names it.
  expect(await done('accounts.retrieve', { account_id: id.slice('proj_'.length) })).toEqual(changed)
  const { entry } = await keys.database
    .selectFrom('keys.audit_log')
    .select('entry')
    .where('type', '=', 'account.updated')
    .executeTakeFirstOrThrow()
  expect(JSON.parse(entry)).toMatchObject({ project: id, before: { overage: false }, after: { overage: true } })
  expect(await call('accounts.update', { account_id: id, plan: 'gold' })).toMatchObject({ code: 'VALIDATION_ERROR' })
  expect(await call('accounts.retrieve', { account_id: 'proj_nobody00' })).toMatchObject({ code: 'NOT_FOUND' })
})

test('a top-up counts once by its id, also when two come at once; the same id with another amount is a conflict', async () => {
  const id = await newProject()
  const topUp = { account_id: id, id: randomUUID(), amount: 5_000 }
  await Promise.all([done('accounts.topUp', topUp), done('accounts.topUp', topUp)])
  expect(await done('accounts.topUp', topUp)).toMatchObject({ extra: 5_000 })
  expect(await call('accounts.topUp', { ...topUp, amount: 6_000 })).toMatchObject({ code: 'CONFLICT' })
  const foreign = await newProject()
  expect(await call('accounts.topUp', { ...topUp, account_id: foreign })).toMatchObject({ code: 'CONFLICT' })
  expect(await done('accounts.retrieve', { account_id: id })).toMatchObject({ extra: 5_000 })
  expect((await auditTypes()).filter((type) => type === 'account.updated')).toHaveLength(1)
})

test('an archived project takes no change and no further top-up; one that it has is confirmed again', async () => {
  const id = await newProject()
  const topUp = { account_id: id, id: randomUUID(), amount: 5_000 }
  await done('accounts.topUp', topUp)
  await done('projects.archive', { project_id: id })
  const [account, rows] = [await done('accounts.retrieve', { account_id: id }), await auditTypes()]
  for (const change of [{ plan: 'payg' }, { overage: true }, { suspended: true }, { overage: false }])
    expect(await call('accounts.update', { account_id: id, ...change })).toMatchObject({ code: 'CONFLICT' })
  expect(await call('accounts.topUp', { ...topUp, id: randomUUID() })).toMatchObject({ code: 'CONFLICT' })
  expect(await done('accounts.topUp', topUp)).toEqual(account)
  expect([await done('accounts.retrieve', { account_id: id }), await auditTypes()]).toEqual([account, rows])
})

const PAYMENT_SYSTEM: TestCaller = { ...OPERATOR_CALL, credential: { kind: 'payment_system' } }

test('a payment system tops up, audited in its name, and makes no other call', async () => {
  const id = await newProject()
  const topUp = { account_id: id, id: randomUUID(), amount: 5 }
  expect(await done('accounts.topUp', topUp, PAYMENT_SYSTEM)).toMatchObject({ id, extra: 5 })
  const log = await done<{ data: { type: string; actor: object; after?: object }[] }>('auditLogs.list', {})
  expect(log.data[0]).toMatchObject({
    type: 'account.updated',
    actor: { type: 'session', session: { user: { id: 'payment_system' } } },
    after: { top_up: { id: topUp.id, amount: 5 } },
  })
  for (const [name, { service }] of Object.entries<Operation>(operations)) {
    if (service !== 'keys' || name === 'accounts.topUp') continue
    expect([name, await call(name, { project_id: id, account_id: id }, PAYMENT_SYSTEM)]).toMatchObject([
      name,
      { kind: 'refused', code: 'FORBIDDEN' },
    ])
  }
  for (const name of ['administrators.authorize', 'projects.names']) {
    const input = { for: 'accounts.topUp', project_ids: [id] }
    expect(await call(name, input, PAYMENT_SYSTEM)).toMatchObject({ kind: 'refused', code: 'FORBIDDEN' })
  }
})

test('however many reports of however many payments come at once, each payment counts once', async () => {
  const id = await newProject()
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ amount: fc.integer({ min: 1, max: 1_000 }), reports: fc.integer({ min: 1, max: 6 }) }), {
        minLength: 1,
        maxLength: 4,
      }),
      async (payments) => {
        const before = await done<{ extra: number }>('accounts.retrieve', { account_id: id })
        const replies = await Promise.all(
          payments.flatMap(({ amount, reports }) => {
            const topUp = { account_id: id, id: randomUUID(), amount }
            return Array.from({ length: reports }, () => call('accounts.topUp', topUp, PAYMENT_SYSTEM))
          }),
        )
        expect(replies.every(({ kind }) => kind === 'done')).toBe(true)
        const paid = payments.reduce((sum, { amount }) => sum + amount, 0)
        expect(await done('accounts.retrieve', { account_id: id })).toMatchObject({ extra: before.extra + paid })
      },
    ),
    { numRuns: 15 },
  )
})

test('an ejected, drained or restored backend is kept, and each change is audited once', async () => {
  const backend_id = keys.config.current.backends[0]!.id
  expect(await done('backends.drain', { backend_id })).toMatchObject({ id: backend_id, control: 'drained' })
  await done('backends.drain', { backend_id })
  expect((await readControls(keys.database)).controls).toEqual([{ backend: backend_id, control: 'drained' }])
  await done('backends.eject', { backend_id })
  expect((await readControls(keys.database)).controls).toEqual([{ backend: backend_id, control: 'ejected' }])
  expect(await done('backends.restore', { backend_id })).toMatchObject({ control: null })
  expect((await readControls(keys.database)).controls).toEqual([])
  expect(await auditTypes()).toEqual(['backend.updated', 'backend.updated', 'backend.updated'])
  expect(await call('backends.drain', { backend_id: 'nothing' })).toMatchObject({ code: 'NOT_FOUND' })
})

test('routers receive each change, the last one last, also where its process died before its message', async () => {
  const received: z.infer<typeof backendControlsReply>[] = []
  await using _ = await rpcClient('router', keys.bus).subscribe(
    'keysControls',
    (reading) => void received.push(reading),
  )
  const newest = () => received.toSorted((one, other) => one.readAtMs! - other.readAtMs!).at(-1)?.controls
  const backend_id = keys.config.current.backends[0]!.id
  for (const [operation, control] of [
    ['backends.drain', 'drained'],
    ['backends.eject', 'ejected'],
    ['backends.restore', null],
  ] as const) {
    await done(operation, { backend_id })
    await expect.poll(newest, { interval: 5 }).toEqual(control === null ? [] : [{ backend: backend_id, control }])
  }
  // A process has died between its commit and its message.
  await setControl(keys.database, backend_id, 'drained')
  await expect.poll(newest, { interval: 20 }).toEqual([{ backend: backend_id, control: 'drained' }])
})

test('a reader changes nothing', async () => {
  const id = await newProject()
  const backend_id = keys.config.current.backends[0]!.id
  const reader = personCall({ subject: 'rita', role: 'reader' })
  for (const [operation, input] of [
    ['backends.drain', { backend_id }],
    ['accounts.update', { account_id: id, overage: true }],
    ['accounts.topUp', { account_id: id, id: randomUUID(), amount: 1 }],
    ['keys.revoke', { key_id: 'abcdefgh' }],
    ['keys.reseal', {}],
  ] as const)
    expect(await call(operation, input, reader)).toMatchObject({ kind: 'refused', code: 'FORBIDDEN' })
  expect((await readControls(keys.database)).controls).toEqual([])
  await done('accounts.retrieve', { account_id: id }, reader)
})

test('any key is revoked by its id', async () => {
  const project_id = await newProject()
  const { api_key: key } = await done<{ api_key: { id: string } }>('serviceAccounts.create', { project_id, name: 'ci' })
  const account = project_id.slice('proj_'.length)
  expect(await done('keys.revoke', { key_id: key.id.slice('key_'.length) })).toMatchObject({ account })
  const page = await done<{ data: object[] }>('apiKeys.list', { project_id })
  expect(page.data).toEqual([])
  expect(await call('keys.revoke', { key_id: 'nonesuch' })).toMatchObject({ code: 'NOT_FOUND' })
})

test('sealing again needs no second call where everything is sealed under the newest secret', async () => {
  expect(await done('keys.reseal', {})).toEqual({ resealed: 0, is_complete: true })
})
