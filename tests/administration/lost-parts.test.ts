/**
 * A part stands still, and the limits of projects hold on: Redis, the keys service, PostgreSQL. No call of administration is confirmed
 * that the part would have to keep.
 */

import { type Database, openDatabase } from '@gateway/postgres/database'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdministeredCluster, adminClient, chatUntilRefused, openAdministered } from './administered.ts'

const MODEL = 'svc-instant'
const MOST = 6
const EDGES = 2
/** In US dollars: a chat or two. */
const SPENT_SOON = 0.0001
const SOON = { timeout: 60_000, interval: 100 }

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
let database: Database
beforeAll(async () => {
  administered = await openAdministered(stack, { edges: EDGES })
  database = stack.use(await openDatabase(administered.cluster.servers.postgres.url))
  await database.query('select 1')
})
afterAll(() => stack.disposeAsync())

const organization = () => administered.admin.admin.organization

async function newProject(): Promise<string> {
  const ours = { name: 'Search', plan: 'payg' }
  return (await organization().projects.create(ours)).id
}

interface NamedKey {
  id: string
  value: string
}
const newKey = (project: string, limits: object): Promise<NamedKey> =>
  administered.admin.post<NamedKey>(`/organization/projects/${project}/api_keys`, {
    body: { name: 'nightly', ...limits },
  })

/** Chats on each edge in turn until it refuses. */
async function chatOnAll(key: string, most: number) {
  const seen = []
  for (const url of administered.gateway.urls) {
    seen.push(await chatUntilRefused(adminClient({ urls: [url] }, key), { model: MODEL, most }))
  }
  return {
    admitted: seen.reduce((sum, { admitted }) => sum + admitted, 0),
    refusals: seen.map(({ refusal }) => refusal),
  }
}

/** `pid`: of a process that the cluster would start again, so it is stopped and not killed. */
async function whileStopped(pid: number | undefined, act: () => Promise<void>): Promise<void> {
  process.kill(pid!, 'SIGSTOP')
  try {
    await act()
  } finally {
    process.kill(pid!, 'SIGCONT')
  }
}

/** PostgreSQL's own process is stopped, so nobody comes back. */
async function endConnections(): Promise<void> {
  await database.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
  )
}

const isAway = { status: 503, code: 'SERVICE_UNAVAILABLE' }

test.each([
  { part: 'the keys service', pid: () => administered.cluster.process('keys-1').pid },
  { part: 'PostgreSQL', pid: () => administered.cluster.servers.postgres.pid, afterStop: endConnections },
])(
  '$part away: known keys go on within their exact limits, and every call of administration is a 503',
  async ({ pid, afterStop }) => {
    const project = await newProject()
    await organization().projects.rateLimits.updateRateLimit(`rl_${MODEL}`, {
      project_id: project,
      max_requests_per_1_day: MOST,
    })
    const key = await newKey(project, {})
    expect(await chatOnAll(key.value, 1)).toMatchObject({ admitted: EDGES })

    await whileStopped(pid(), async () => {
      await afterStop?.()
      const { admitted, refusals } = await chatOnAll(key.value, 2 * MOST)
      expect(admitted).toBe(MOST - EDGES)
      expect(refusals).toEqual(
        Array(EDGES).fill({ status: 429, code: 'rate_limit_exceeded', type: 'day', scope: 'model' }),
      )
      await expect(organization().projects.retrieve(project)).rejects.toMatchObject(isAway)
      await expect(organization().projects.archive(project)).rejects.toMatchObject(isAway)
      await expect(administered.admin.get('/../admin/v1/backends')).rejects.toMatchObject(isAway)
    })
    await expect
      .poll(
        () =>
          organization()
            .projects.archive(project)
            .catch(() => null),
        SOON,
      )
      .toMatchObject({ status: 'archived' })
    expect(await chatOnAll(key.value, 1)).toMatchObject({ admitted: 0, refusals: [{ status: 401 }, { status: 401 }] })
  },
)

test('Redis away: the rate of a key holds on all edges together, its month by the ledger, and no change is confirmed', async () => {
  const project = await newProject()
  const limited = await newKey(project, { max_requests_per_1_minute: MOST })
  const spent = await newKey(project, { monthly_limit: SPENT_SOON })
  expect(await chatOnAll(spent.value, 20)).toMatchObject({ refusals: [{ status: 402 }, { status: 402 }] })
  const costs = async () => {
    const { data } = await organization().usage.costs({
      start_time: Math.floor(Date.now() / 1_000) - 86_400,
      api_key_ids: [spent.id],
    })
    const amounts = data.flatMap(({ results }) => results as { amount: { value: number } }[])
    return amounts.reduce((sum, { amount }) => sum + amount.value, 0)
  }
  await expect.poll(costs, SOON).toBeGreaterThanOrEqual(SPENT_SOON)

  await whileStopped(administered.cluster.servers.redis.pid, async () => {
    const { admitted, refusals } = await chatOnAll(limited.value, 2 * MOST)
    expect(admitted).toBeLessThanOrEqual(MOST)
    expect(admitted).toBeGreaterThanOrEqual(EDGES)
    expect(refusals).toEqual(
      Array(EDGES).fill({ status: 429, code: 'rate_limit_exceeded', type: 'requests', scope: 'key' }),
    )
    const month = await chatOnAll(spent.value, 1)
    expect(month).toEqual({
      admitted: 0,
      refusals: Array(EDGES).fill({ status: 402, code: 'quota_exceeded', scope: 'key' }),
    })
    expect(await organization().projects.retrieve(project)).toMatchObject({ id: project })
    await expect(organization().projects.apiKeys.delete(limited.id, { project_id: project })).rejects.toMatchObject(
      isAway,
    )
    // It is in the tables, though, which decide meanwhile.
    expect(await chatOnAll(limited.value, 1)).toMatchObject({
      admitted: 0,
      refusals: [{ status: 401 }, { status: 401 }],
    })
  })
  await expect
    .poll(
      () =>
        organization()
          .projects.apiKeys.delete(limited.id, { project_id: project })
          .catch(() => null),
      SOON,
    )
    .toMatchObject({ deleted: true })
  expect(await chatOnAll(limited.value, 1)).toMatchObject({ admitted: 0, refusals: [{ status: 401 }, { status: 401 }] })
})
