/**
 * Nobody takes a cluster down by a flood of administration calls at one edge, with forged credentials or with a reader's. All the while,
 * inference goes on at every edge, an owner's changes get through, and a deleted key admits nothing.
 */

import { randomBytes } from 'node:crypto'
import { scrape, sumOf } from '@gateway/cluster/scrape'
import { formatAdminKey } from '@gateway/contracts/admin-key'
import { formatKey, randomBase62 } from '@gateway/contracts/api-key'
import { Agent, request } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startHealthyClient, type HealthyClient } from '../hostile/healthy-client.ts'
import { newDeveloper, send, signInAs } from '../promises/gateway.ts'
import { type AdministeredCluster, openAdministered } from './administered.ts'

const CONNECTIONS = 300
const FLOOD_MS = 5_000
const ROUNDS = 5
/** Of each process, with the garbage that the collector has not yet freed. */
const MOST_GROWTH = 300 * 1024 * 1024
/** Of each well-behaved client: all processes and the flood itself share the machine. */
const LEAST_SERVED = 10
/** Of the one keys process: ten, and one that counts the others. */
const AUDIT_ROWS_A_MINUTE = 11

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
let startedAtMs: number
/** One at each edge. */
let healthy: HealthyClient[]
let memoryBefore: Map<string, number>
let forgedAdminKeys = 0

beforeAll(async () => {
  administered = await openAdministered(stack, { edges: 2, routers: 2 })
  startedAtMs = performance.now()
  // The first requests of a process take memory that it keeps.
  const key = await signInAs(administered.gateway, 'reader')
  await sendFlood((turn) => ({ path: oneOf(FROM_EVERY_SERVICE, turn), key }), { forMs: 1_000 })
})
beforeEach(async () => {
  memoryBefore = await memory()
  const { gateway } = administered
  healthy = await Promise.all(gateway.urls.map(async (url) => startHealthyClient(url, await newDeveloper(gateway))))
})
afterEach(async () => void (await Promise.all(healthy.map((client) => client.stop()))))
afterAll(() => stack.disposeAsync())

interface Sent {
  path: string
  key: string
  method?: 'DELETE'
}

const random = (length: number) => randomBase62(length, randomBytes)
const oneOf = <One>(choices: readonly One[], turn: number): One => choices[turn % choices.length]!

/** Every request is from another network. */
const networkOf = (turn: number) => `203.${(turn >> 16) & 255}.${(turn >> 8) & 255}.${turn & 255}`

interface Outcome {
  /** By status. */
  counts: Map<number, number>
  /** Statuses of refusals for the time being that do not say when to try again. */
  hasty: number[]
}

/** Sends requests to the first edge over all connections without a pause, as `next` makes them, and until the others are done. */
async function sendFlood(next: (turn: number) => Sent, { forMs = FLOOD_MS, others = Promise.resolve() } = {}) {
  const agent = new Agent({ connections: CONNECTIONS })
  const outcome: Outcome = { counts: new Map(), hasty: [] }
  const untilMs = performance.now() + forMs
  const done = new AbortController()
  const ending = others.catch(() => {}).finally(() => done.abort())
  let turn = 0
  const loop = async () => {
    while (performance.now() < untilMs || !done.signal.aborted) {
      const network = networkOf(turn)
      const { path, key, method = 'GET' } = next(turn++)
      const { statusCode, headers, body } = await request(administered.gateway.urls[0] + path, {
        dispatcher: agent,
        method,
        headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': network },
      })
      await body.dump()
      outcome.counts.set(statusCode, (outcome.counts.get(statusCode) ?? 0) + 1)
      const isBusy = statusCode === 429 || statusCode === 503
      if (isBusy && headers['retry-after'] === undefined) outcome.hasty.push(statusCode)
    }
  }
  await Promise.all([ending, ...Array.from({ length: CONNECTIONS }, loop)])
  await agent.close()
  return outcome
}

/** The resident memory of each process of the gateway, in bytes. */
async function memory(): Promise<Map<string, number>> {
  const services = administered.cluster.processes.filter(({ plan }) => plan.script.startsWith('services/'))
  return new Map(
    await Promise.all(
      services.map(async ({ plan }): Promise<[string, number]> => {
        return [plan.name, sumOf(await scrape(plan.healthUrl), 'process_resident_memory_bytes')]
      }),
    ),
  )
}

const statusOf = async (url: string, key: string) => {
  const body = { model: 'svc-instant', max_tokens: 5, messages: [{ role: 'user', content: 'Say: hello' }] }
  return (await send(url, '/v1/chat/completions', { key, body })).status
}

/** An owner makes a project and its key, and deletes the key. It is live at each edge before, and dead after. */
async function changeAndRevoke(): Promise<void> {
  const { gateway, admin } = administered
  const { projects } = admin.admin.organization
  const { id } = await projects.create({ name: 'Amid a flood' })
  const { api_key: key } = await projects.serviceAccounts.create(id, { name: 'nightly' })
  const statuses = () => Promise.all(gateway.urls.map((url) => statusOf(url, key!.value)))
  expect(await statuses()).toEqual(gateway.urls.map(() => 200))
  await projects.apiKeys.delete(key!.id, { project_id: id })
  for (let times = 0; times < ROUNDS; times++) expect(await statuses()).toEqual(gateway.urls.map(() => 401))
}

async function endureFlood(next: (turn: number) => Sent): Promise<Outcome> {
  const changed = (async () => {
    for (let round = 0; round < ROUNDS; round++) await changeAndRevoke()
  })()
  const outcome = await sendFlood(next, { others: changed })
  await changed
  await Promise.all(healthy.map((client) => client.stop()))
  console.log(
    Object.fromEntries(outcome.counts),
    healthy.map(({ served, longestMs }) => ({ served, longestMs: Math.round(longestMs) })),
  )
  for (const client of healthy) {
    expect(client.troubles).toEqual([])
    expect(client.served).toBeGreaterThan(LEAST_SERVED)
  }
  expect(outcome.hasty).toEqual([])
  for (const [name, bytes] of await memory())
    expect.soft(bytes - memoryBefore.get(name)!, name).toBeLessThan(MOST_GROWTH)
  return outcome
}

const statusesOf = ({ counts }: Outcome) => [...counts.keys()]

const PROJECT = 'proj_AAAAAAAA'
const ANYTHING = [
  { path: '/v1/organization/projects' },
  { path: `/v1/organization/projects/${PROJECT}/api_keys/key_AbCdEfGh`, method: 'DELETE' },
  { path: '/v1/organization/costs?start_time=1767225600' },
  { path: '/admin/v1/overview?window=month' },
  { path: '/admin/v1/config' },
] as const

test('a flood of forged admin keys from thousands of networks', async () => {
  const outcome = await endureFlood((turn) => ({
    ...oneOf(ANYTHING, turn),
    key: formatAdminKey({ keyId: random(8), secret: random(32) }),
  }))
  expect([401, 429, 503]).toEqual(expect.arrayContaining(statusesOf(outcome)))
  forgedAdminKeys = outcome.counts.get(401)!
  expect(forgedAdminKeys).toBeGreaterThan(0)
})

test('a flood of forged sign-ins, whose claims are an owner’s', async () => {
  const [head, claims, signature] = (await signInAs(administered.gateway, 'owner')).split('.')
  const outcome = await endureFlood((turn) => {
    const forged = Buffer.from(signature!, 'base64url')
    forged.writeUInt32LE(turn, 0)
    return { ...oneOf(ANYTHING, turn), key: [head, claims, forged.toString('base64url')].join('.') }
  })
  expect([401, 429, 503]).toEqual(expect.arrayContaining(statusesOf(outcome)))
  expect(outcome.counts.get(401)).toBeGreaterThan(0)
})

test('a flood of keys for inference, live and forged', async () => {
  const { key } = await newDeveloper(administered.gateway)
  const outcome = await endureFlood((turn) => ({
    ...oneOf(ANYTHING, turn),
    key: turn % 2 === 0 ? key : formatKey({ keyId: random(8), accountTag: random(8), secret: random(32) }),
  }))
  expect([403, 429, 503]).toEqual(expect.arrayContaining(statusesOf(outcome)))
  expect(outcome.counts.get(403)).toBeGreaterThan(0)
})

const SINCE = Math.floor(Date.now() / 1_000) - 30 * 86_400
/** All processes reply to each. */
const FROM_ALL_PROCESSES = [
  '/admin/v1/overview?window=hour',
  '/admin/v1/overview?window=day',
  '/admin/v1/overview?window=month',
  '/admin/v1/config',
  '/admin/v1/backends',
]
const FROM_EVERY_SERVICE = [
  '/v1/organization/projects?limit=100&include_archived=true',
  '/v1/organization/users?limit=100',
  `/v1/organization/audit_logs?limit=100&effective_at[gt]=${SINCE}&event_types[]=project.created`,
  '/admin/v1/audit_logs/verify',
  `/v1/organization/usage/completions?start_time=${SINCE}&limit=31&group_by[]=project_id&group_by[]=model`,
  `/v1/organization/usage/completions?start_time=${SINCE}&limit=31&group_by[]=tag`,
  `/v1/organization/costs?start_time=${SINCE}&limit=31&group_by[]=project_id&group_by[]=line_item`,
  '/admin/v1/usage?from=2026-01-01&to=2026-12-31',
  ...FROM_ALL_PROCESSES,
]

test.each([
  ['lists, filters, and requests usage, costs and proofs of the audit log', FROM_EVERY_SERVICE],
  ['requests overviews, configs and backends', FROM_ALL_PROCESSES],
])('a flood of a reader, who %s', async (_, paths) => {
  const key = await signInAs(administered.gateway, 'reader')
  const outcome = await endureFlood((turn) => ({ path: oneOf(paths, turn), key }))
  expect([200, 429, 503]).toEqual(expect.arrayContaining(statusesOf(outcome)))
  expect(outcome.counts.get(200)).toBeGreaterThan(0)
  expect((outcome.counts.get(429) ?? 0) + (outcome.counts.get(503) ?? 0)).toBeGreaterThan(0)
  // The flood over, its sender is served like all others.
  for (const path of paths) {
    await expect.poll(async () => (await send(administered.gateway.urls[0], path, { key })).status).toBe(200)
  }
})

/** The counts in the audit log's rows of refused sign-ins. */
async function refusedSignIns(): Promise<number[]> {
  const rows: number[] = []
  const list = administered.admin.admin.organization.auditLogs.list({ event_types: ['login.failed'], limit: 100 })
  for await (const row of list) {
    rows.push((row as unknown as Record<'login.failed', { count: number }>)['login.failed'].count)
  }
  return rows
}

test('the audit log counts the refused sign-ins in few rows, and its chain holds', async () => {
  // The last row of a minute counts the others.
  const counted = async () => (await refusedSignIns()).reduce((sum, count) => sum + count, 0)
  await expect.poll(counted, { timeout: 120_000, interval: 1_000 }).toBeGreaterThanOrEqual(forgedAdminKeys)
  const minutes = Math.ceil((performance.now() - startedAtMs) / 60_000) + 1
  const rows = await refusedSignIns()
  expect(rows.length).toBeLessThanOrEqual(minutes * AUDIT_ROWS_A_MINUTE)
  expect(rows.length).toBeLessThan(forgedAdminKeys / 10)
  const { gateway, adminKey } = administered
  const { body } = await send(gateway.urls[0], '/admin/v1/audit_logs/verify', { key: adminKey })
  expect(body).toMatchObject({ problem: null })
})
