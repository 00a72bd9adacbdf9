/** A key of a project at the inference endpoints: its lists, its limits in every dialect, its tags and its pages. */

import { type Database, openDatabase } from '@gateway/postgres/database'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdministeredCluster, openAdministered } from './administered.ts'

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
let database: Database
let project: string
beforeAll(async () => {
  administered = await openAdministered(stack)
  database = stack.use(await openDatabase(administered.cluster.servers.postgres.url))
  const { body } = await administer('/projects', { name: 'search' })
  project = String(body['id'])
})
afterAll(() => stack.disposeAsync())

type Body = Record<string, unknown>
interface Reply {
  status: number
  body: Body
}

async function send(path: string, key: string, body?: object, headers: Record<string, string> = {}): Promise<Reply> {
  const response = await fetch(`${administered.gateway.urls[0]}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Body }
}

const administer = (path: string, body: object) => send(`/v1/organization${path}`, administered.adminKey, body)
async function newKey(limits: object): Promise<string> {
  const { body } = await administer(`/projects/${project}/api_keys`, { name: 'a key', ...limits })
  return String(body['value'])
}
const chat = (model: string) => ({ model, max_tokens: 5, messages: [{ role: 'user', content: 'Say: hello' }] })

test('a model outside of the list of a key is a plan_limit of scope key, in every dialect', async () => {
  const key = await newKey({ models: ['svc-instant'] })
  expect((await send('/v1/chat/completions', key, chat('svc-instant'))).status).toBe(200)
  const refusals = [
    await send('/v1/chat/completions', key, chat('svc-fast')),
    await send('/v1/messages', key, chat('svc-fast')),
    await send('/v1/responses', key, { model: 'svc-fast', input: 'Say: hello' }),
  ]
  for (const { status, body } of refusals) {
    expect(status).toBe(429)
    expect(body['error']).toMatchObject({ code: 'rate_limit_exceeded', scope: 'key', retry_after_ms: 0 })
  }
})

test("a key's requests a minute end in a 429 of scope key; another key of the project goes on", async () => {
  const [key, other] = [await newKey({ max_requests_per_1_minute: 1 }), await newKey({})]
  expect((await send('/v1/chat/completions', key, chat('svc-instant'))).status).toBe(200)
  const { status, body } = await send('/v1/chat/completions', key, chat('svc-instant'))
  expect(status).toBe(429)
  expect(body['error']).toMatchObject({
    type: 'requests',
    scope: 'key',
    message: expect.stringContaining('of this key'),
  })
  expect((await send('/v1/chat/completions', other, chat('svc-instant'))).status).toBe(200)
})

test('a malformed header of tags is a 400 that names it, and a good one passes on every endpoint', async () => {
  const key = await newKey({})
  const tagged = (tags: string) => send('/v1/chat/completions', key, chat('svc-instant'), { 'x-svc-tags': tags })
  const { status, body } = await tagged('team')
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain('x-svc-tags')
  expect((await tagged('team=search,env=prod')).status).toBe(200)
  const embedding = { model: 'svc-embed', input: 'hello', user: 'alice' }
  expect((await send('/v1/embeddings', key, embedding, { 'x-svc-tags': 'team=search' })).status).toBe(200)
  const rows = async () =>
    (
      await database.query(
        'select lane, is_project, end_user, tags from metering.ledger where tags is not null order by request_id',
      )
    ).rows
  await expect.poll(rows, { timeout: 20_000 }).toEqual([
    { lane: 'svc-instant', is_project: true, end_user: null, tags: { team: 'search', env: 'prod' } },
    { lane: 'svc-embed', is_project: true, end_user: expect.stringMatching(/^[\w-]{22}$/), tags: { team: 'search' } },
  ])
})

test('the pages of plan and quota show the project, and a key of a project manages no keys', async () => {
  const key = await newKey({ models: ['svc-instant'] })
  const plan = await send('/v1/plan', key)
  const included = (plan.body['models'] as { id: string; included: boolean }[]).filter((model) => model.included)
  expect(included.map(({ id }) => id)).toEqual(['svc-instant'])
  const quota = await send('/billing/quota', key)
  expect(quota.body).toMatchObject({ object: 'quota', limit: plan.body['limit'] })
  expect((await send('/v1/keys/developer', key, {})).status).toBe(401)
})
