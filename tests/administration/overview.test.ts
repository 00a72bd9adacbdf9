/**
 * The overview on two edges: each figure against the requests that a test sent, and against usage and costs.
 */

import { randomUUID } from 'node:crypto'
import type { Overview, OverviewWindow } from '@gateway/contracts/administration/overview'
import OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { send, signInAs, userMessages } from '../promises/gateway.ts'
import { type AdministeredCluster, adminClient, openAdministered } from './administered.ts'

const SOON = { timeout: 60_000, interval: 250 }
const MODEL = 'svc-instant'
const FORBIDDEN_MODEL = 'svc-pro'

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
beforeAll(async () => void (administered = await openAdministered(stack, { edges: 2 })))
afterAll(() => stack.disposeAsync())

const organization = () => administered.admin.admin.organization
const urls = () => administered.gateway.urls
const secondUrl = () => urls()[1]!

async function overviewOf(window: OverviewWindow, of: { project?: string; key?: string; url?: string } = {}) {
  const query = new URLSearchParams({ window, ...(of.project && { project: of.project }) })
  const { status, body } = await send(of.url ?? urls()[0], `/admin/v1/overview?${query.toString()}`, {
    method: 'GET',
    key: of.key ?? administered.adminKey,
  })
  return { status, overview: body as unknown as Overview }
}

async function newProject(name: string): Promise<{ id: string; key: string }> {
  const { projects } = organization()
  const { id } = await projects.create({ name, plan: 'payg' } as { name: string })
  const { api_key } = await projects.serviceAccounts.create(id, { name: 'nightly' })
  return { id, key: api_key!.value }
}

const chat = (url: string, key: string, model = MODEL) =>
  adminClient({ urls: [url] }, key).chat.completions.create({
    model,
    max_tokens: 20,
    messages: userMessages('Say: hello'),
  })

const WINDOWS = ['hour', 'day', 'month'] as const

test('requests, errors and spend of all edges are in each window, and the spend is that of costs to the cent', async () => {
  const project = await newProject('Search')
  await organization().projects.modelPermissions.update(project.id, { mode: 'deny_list', model_ids: [FORBIDDEN_MODEL] })
  for (const url of urls()) {
    for (let sent = 0; sent < 3; sent++) await chat(url, project.key)
    await expect(chat(url, project.key, FORBIDDEN_MODEL)).rejects.toMatchObject({ status: 429 })
  }
  for (const window of WINDOWS) {
    // The ledger and the other edge follow.
    const shown = async () => (await overviewOf(window, { project: project.id })).overview
    await expect
      .poll(shown, SOON)
      .toMatchObject({ requests: 6, ended: 8, edges: { replied: 2, known: 2 }, live_requests: 0, live_streams: 0 })
    const overview = await shown()
    expect(overview.errors).toEqual([{ code: 'rate_limit_exceeded', count: 2 }])
    expect(overview.p50_ms).toBeGreaterThan(0)
    expect(overview.p99_ms).toBeGreaterThanOrEqual(overview.p50_ms!)
    expect(overview.models.map(({ id, requests }) => [id, requests])).toEqual([[MODEL, 6]])
    expect(overview.projects).toMatchObject([{ id: project.id, requests: 6, ended: 8 }])
    const { data } = await organization().usage.costs({
      start_time: Math.floor(overview.from / 86_400) * 86_400,
      end_time: overview.to,
      project_ids: [project.id],
      limit: 31,
    })
    const costs = data.flatMap(({ results }) => results as { amount: { value: number } }[])
    const usd = costs.reduce((sum, { amount }) => sum + amount.value, 0)
    expect(usd).toBeGreaterThan(0)
    expect(overview.spend_usd).toBeCloseTo(usd, 9)
    const bySeries = overview.series.reduce((sum, bucket) => sum + bucket.spend_usd, 0)
    expect(bySeries).toBeCloseTo(usd, 9)
  }
})

test('the organization’s overview names its projects, models and backends, and its parts add up', async () => {
  const [one, two] = [await newProject('Ranking'), await newProject('Ads')]
  await chat(urls()[0], one.key)
  await chat(secondUrl(), two.key)
  await expect
    .poll(async () => (await overviewOf('hour')).overview.projects, SOON)
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: one.id, name: 'Ranking', requests: 1, ended: 1 }),
        expect.objectContaining({ id: two.id, name: 'Ads', requests: 1, ended: 1 }),
      ]),
    )
  const { overview } = await overviewOf('hour')
  expect(overview.backends.map(({ id }) => id)).toContain('steady-a')
  for (const member of ['requests', 'spend_usd'] as const) {
    const sum = (rows: readonly Record<typeof member, number>[]) => rows.reduce((total, row) => total + row[member], 0)
    expect(sum(overview.models)).toBeCloseTo(overview[member], 9)
    expect(sum(overview.series)).toBeCloseTo(overview[member], 9)
    expect(sum([...overview.projects, overview.other_projects])).toBeCloseTo(overview[member], 9)
  }
})

test('a project whose requests are all refused is shown, which the ledger does not know', async () => {
  const { id, key } = await newProject('Stuck')
  await organization().projects.modelPermissions.update(id, { mode: 'allow_list', model_ids: ['svc-fast'] })
  // The edge learns the key's account by this one.
  await expect(chat(secondUrl(), key)).rejects.toBeInstanceOf(OpenAI.APIError)
  await expect(chat(secondUrl(), key)).rejects.toBeInstanceOf(OpenAI.APIError)
  await expect
    .poll(async () => (await overviewOf('day')).overview.projects.find((row) => row.id === id), SOON)
    .toMatchObject({ name: 'Stuck', requests: 0, ended: 2, errors: [{ code: 'rate_limit_exceeded', count: 2 }] })
})

test('a stream that runs on one edge is live in the overview of the other, and then has a time to its first token', async () => {
  const { id, key } = await newProject('Streams')
  const { steadyA, steadyB } = administered.gateway.backends
  const paced = [steadyA, steadyB].map((backend) => backend.fail({ stream: true, paceMs: 200 }))
  const client = adminClient({ urls: [secondUrl()] }, key)
  const stream = await client.chat.completions.create({
    model: MODEL,
    max_tokens: 200,
    stream: true,
    messages: userMessages('Say: one two three four five six seven eight nine ten'),
  })
  const chunks = stream[Symbol.asyncIterator]()
  await chunks.next()
  const live = async () => (await overviewOf('hour', { url: urls()[0] })).overview
  await expect.poll(live, SOON).toMatchObject({
    models: expect.arrayContaining([expect.objectContaining({ id: MODEL, live_streams: 1 })]),
    projects: expect.anything(),
  })
  for (const slow of paced) slow.cancel()
  stream.controller.abort()
  await expect
    .poll(async () => (await overviewOf('hour', { project: id })).overview, SOON)
    .toMatchObject({ live_streams: 0, clients_gone: 1, ended: 1, first_token_p50_ms: expect.any(Number) })
})

test('a reader sees the organization; an owner of a project sees that project alone; a member and a stranger see neither', async () => {
  const { id } = await newProject('Shared')
  const other = await newProject('Foreign')
  const person = async (role: 'owner' | 'member' | null) => {
    const name = `${role ?? 'nobody'}-in-shared-${randomUUID()}`.replace(/^owner/, 'leader')
    const token = await signInAs(administered.gateway, name)
    await send(urls()[0], '/v1/organization/projects', { method: 'GET', key: token })
    const { data } = await organization().users.list({ limit: 100 })
    const user = data.find((candidate) => candidate.name === name)!
    if (role) await organization().projects.users.create(id, { user_id: user.id, role })
    return token
  }
  const statuses = async (key: string) =>
    Promise.all(
      [undefined, id, other.id, 'proj_nowhere1'].map(
        async (project) => (await overviewOf('hour', { key, ...(project !== undefined && { project }) })).status,
      ),
    )
  expect(await statuses(await signInAs(administered.gateway, 'reader'))).toEqual([200, 200, 200, 404])
  expect(await statuses(await person('owner'))).toEqual([403, 200, 404, 404])
  expect(await statuses(await person('member'))).toEqual([403, 403, 404, 404])
  expect(await statuses(await person(null))).toEqual([403, 404, 404, 404])
})

test('another window is refused with its name', async () => {
  const { status, overview } = await overviewOf('year' as OverviewWindow)
  expect([status, overview]).toMatchObject([400, { error: { code: 'VALIDATION_ERROR', param: 'window' } }])
})
