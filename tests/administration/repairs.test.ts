/** Repairs of the admission store in the audit log, made over HTTP and by the command line on the bus. */

import { type Database, openDatabase } from '@gateway/postgres/database'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AuditLog } from '@gateway/contracts/administration/audit-logs'
import { runCtl } from '../promises/run-ctl.ts'
import { send } from '../promises/gateway.ts'
import { type AdministeredCluster, adminClient, chatUntilRefused, openAdministered } from './administered.ts'

const SOON = { timeout: 60_000, interval: 250 }

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
let database: Database
beforeAll(async () => {
  administered = await openAdministered(stack)
  database = stack.use(await openDatabase(administered.cluster.servers.postgres.url))
})
afterAll(() => stack.disposeAsync())

interface Reconciliation {
  drifts: { account: string; kind: string; repaired: boolean }[]
}

async function overHttp(repair: boolean): Promise<Reconciliation> {
  const { gateway, adminKey } = administered
  const { status, body } = await send(gateway.urls[0], '/admin/v1/reconcile', { key: adminKey, body: { repair } })
  expect({ status, body }).toMatchObject({ status: 200 })
  return body as unknown as Reconciliation
}

async function onTheBus(): Promise<void> {
  const { out, err } = await runCtl(['reconcile', '--repair'], { NATS_URL: administered.cluster.servers.nats.url })
  expect({ out, err }).toMatchObject({ out: expect.stringContaining('0 of them not repaired') })
}

const rowsOf = async (project: string) => {
  const { data } = await administered.admin.get<{ data: AuditLog[] }>(
    `/organization/audit_logs?project_ids[]=${project}&event_types[]=account.repaired`,
  )
  return data.map(({ before, actor }) => ({ kind: Object.keys(before ?? {})[0], actor: actor.type })).toSorted(byKind)
}
const byKind = (one: { kind: string | undefined }, other: { kind: string | undefined }) =>
  String(one.kind) < String(other.kind) ? -1 : 1

/** A project whose plan and whose total of the month differ from the store's. */
async function spoiled(): Promise<string> {
  const { projects } = administered.admin.admin.organization
  const { id } = await projects.create({ name: 'Search' })
  const { api_key: key } = await projects.serviceAccounts.create(id, { name: 'search' })
  const client = adminClient(administered.gateway, key!.value)
  expect(await chatUntilRefused(client, { model: 'svc-instant', most: 2 })).toMatchObject({ admitted: 2 })
  const tag = id.slice('proj_'.length)
  const recorded = async () =>
    (await database.query('select from metering.ledger where account = $1 and delivered', [tag])).rows.length
  await expect.poll(recorded, SOON).toBe(2)
  await expect.poll(async () => (await overHttp(false)).drifts, SOON).toEqual([])
  await database.query('update keys.accounts set overage = true where tag = $1', [tag])
  await database.query('update metering.windows set milli_tokens = milli_tokens + 5 where account = $1', [tag])
  return id
}

test('a repair of both services is in the audit log with its caller, and a mere look is not', async () => {
  const first = await spoiled()
  const tag = first.slice('proj_'.length)
  expect((await overHttp(false)).drifts.map(({ kind }) => kind).toSorted()).toEqual(['account', 'total'])
  expect(await rowsOf(first)).toEqual([])
  const { drifts } = await overHttp(true)
  expect(drifts.filter(({ account, repaired }) => account === tag && repaired)).toHaveLength(2)
  const ofKey = (kind: string) => ({ kind, actor: 'api_key' })
  expect(await rowsOf(first)).toEqual([ofKey('account'), ofKey('total')])

  const second = await spoiled()
  await onTheBus()
  const ofOperator = (kind: string) => ({ kind, actor: 'session' })
  expect(await rowsOf(second)).toEqual([ofOperator('account'), ofOperator('total')])
  expect((await overHttp(false)).drifts).toEqual([])
  const verified = await runCtl(['audit', 'verify'], { NATS_URL: administered.cluster.servers.nats.url })
  expect(verified).toMatchObject({ code: 0 })
})
