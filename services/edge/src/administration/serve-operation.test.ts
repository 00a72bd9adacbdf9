import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { formatAdminKey } from '@gateway/contracts/admin-key'
import { formatKey } from '@gateway/contracts/api-key'
import type { AdministerReply, AdministerRequest } from '@gateway/contracts/administration/envelope'
import type { Operation } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
import { GatewayError } from '@gateway/contracts/errors'
import OpenAI from 'openai'
import { type Administer, openAdministration } from '../../test/administration.ts'
import { hashKey } from '../auth/authenticate.ts'
import { invalidToken } from '../auth/verify-token.ts'

const adminKey = formatAdminKey({ keyId: 'AbCdEfGh', secret: 's'.repeat(32) })
const inferenceKey = formatKey({ keyId: 'AbCdEfGh', accountTag: 'Tag12345', secret: 's'.repeat(32) })
const ROWS: [string, Operation][] = Object.entries(operations)

let opened: AsyncDisposableStack
beforeEach(() => void (opened = new AsyncDisposableStack()))
afterEach(() => opened.disposeAsync())

interface Sent {
  method?: string
  key?: string | null
  body?: unknown
  /** A body that is not JSON. */
  text?: string
  headers?: Record<string, string>
}

/** A keys service that gives one reply, and remembers its requests. */
async function open(
  reply: AdministerReply | Error | Promise<AdministerReply> = { kind: 'done', output: {} },
  environment?: NodeJS.ProcessEnv,
) {
  const calls: AdministerRequest[] = []
  const administer: Administer = async (question) => {
    calls.push(question)
    if (reply instanceof Error) throw reply
    return reply
  }
  const verifyToken = async (token: string) => {
    if (token !== 'good-token') throw invalidToken()
    return { issuer: 'https://id.example', subject: 'ada', claims: { roles: ['gateway-reader'], groups: ['search'] } }
  }
  const url = await openAdministration(opened, { administer, verifyToken, ...(environment && { environment }) })
  const call = (path: string, { method = 'GET', key = adminKey, body, text, headers = {} }: Sent = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(text !== undefined && { body: text }),
    })
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: null, adminAPIKey: adminKey, maxRetries: 2 })
  return { calls, call, client }
}

test('every row of the table is served at its path, by its method, as one call of its own name', async () => {
  const { calls, call } = await open()
  for (const [name, { method, path }] of ROWS.filter(([, { service }]) => service === 'keys')) {
    const expected = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter], at) => [parameter, `id/${at}`])
    const filled = path.replace(/\{(\w+)\}/g, () => '@').split('@')
    const url = filled.reduce((sofar, part, at) => `${sofar}${encodeURIComponent(`id/${at - 1}`)}${part}`)
    const { status } = await call(url, { method })
    expect([name, status]).toEqual([name, 200])
    expect(calls.pop()).toMatchObject({ operation: name, input: Object.fromEntries(expected) })
  }
})

test("the official SDK's parameters come as it means them", async () => {
  const { calls, client } = await open({ kind: 'done', output: { object: 'list', data: [], has_more: false } })
  const { projects } = client.admin.organization
  await projects.list({ after: 'proj_1', limit: 3, include_archived: true })
  expect(calls.pop()).toMatchObject({
    operation: 'projects.list',
    input: { after: 'proj_1', limit: '3', include_archived: 'true' },
    credential: { kind: 'admin_key', hash: hashKey(adminKey) },
  })
  await projects.update('proj_1', { name: 'Search' })
  expect(calls.pop()).toMatchObject({ operation: 'projects.update', input: { project_id: 'proj_1', name: 'Search' } })
  await projects.apiKeys.delete('key_1', { project_id: 'proj_1' })
  expect(calls.pop()).toMatchObject({
    operation: 'apiKeys.delete',
    input: { project_id: 'proj_1', api_key_id: 'key_1' },
  })
})

test('a name of the path counts before the same name in query or body', async () => {
  const { calls, call } = await open()
  await call('/v1/organization/projects/proj_1?project_id=proj_2', { method: 'POST', body: { project_id: 'proj_3' } })
  expect(calls).toMatchObject([{ input: { project_id: 'proj_1' } }])
})

test('the audit log gets the request id, the address that trusted proxies report, and the user agent', async () => {
  const { calls, call } = await open(undefined, { TRUST_PROXY: 'loopback' })
  const headers = { 'x-forwarded-for': '198.51.100.7, 2001:db8:1:2:3:4:5:6', 'user-agent': 'u'.repeat(600) }
  const response = await call('/v1/organization/projects', { headers })
  expect(calls[0]!.origin).toEqual({
    requestId: response.headers.get('x-request-id'),
    address: '2001:db8:1:2:3:4:5:6',
    userAgent: 'u'.repeat(512),
  })
})

describe('credentials', () => {
  test.each([
    ['nothing', null, 401, 'NO_AUTH'],
    ['an admin key with a typo', `${adminKey.slice(0, -1)}x`, 401, 'INVALID_KEY'],
    ['a key for inference', inferenceKey, 403, 'FORBIDDEN'],
    ['a forged token', 'forged', 401, 'INVALID_TOKEN'],
    ['the key of another service', 'sk-admin-abc', 401, 'INVALID_TOKEN'],
  ])('%s reaches no service', async (_, key, status, code) => {
    const { calls, call } = await open()
    for (const [, { method, path }] of ROWS) {
      const response = await call(path.replace(/\{\w+\}/g, 'id'), { method, key })
      const { error } = (await response.json()) as { error: { code: string; message: string } }
      expect([path, response.status, error.code]).toEqual([path, status, code])
      expect(error.message).toMatch(/\w/)
    }
    expect(calls.filter(({ credential }) => credential.kind !== 'refused')).toEqual([])
  })

  test('a sign-in brings the role and the groups of its token', async () => {
    const { calls, call } = await open()
    expect((await call('/v1/organization/projects', { key: 'good-token' })).status).toBe(200)
    const credential = {
      kind: 'sign_in',
      issuer: 'https://id.example',
      subject: 'ada',
      role: 'reader',
      groups: ['search'],
      hasRole: true,
      hasGroups: true,
    }
    expect(calls[0]!.credential).toEqual(credential)
  })

  test('an admin key counts beside a left-over key for inference, in either header', async () => {
    const { calls, call } = await open()
    await call('/v1/organization/projects', { headers: { 'x-api-key': inferenceKey } })
    await call('/v1/organization/projects', { key: inferenceKey, headers: { 'x-api-key': adminKey } })
    expect(calls.map(({ credential }) => credential.kind)).toEqual(['admin_key', 'admin_key'])
  })

  test('forged tokens and mistyped admin keys are reported to the audit log, ten times a second at most', async () => {
    const { calls, call } = await open()
    for (let request = 0; request < 30; request++) await call('/v1/organization/projects', { key: 'forged' })
    await sleep(150)
    await call('/v1/organization/projects', { key: `${adminKey.slice(0, -1)}x` })
    await call('/v1/organization/projects', { key: null })
    await call('/v1/organization/projects', { key: inferenceKey })
    const reports = calls.map(({ credential }) => credential as { kind: string; code: string; count: number })
    expect(reports.every(({ kind }) => kind === 'refused')).toBe(true)
    expect(reports.length).toBeLessThan(20)
    expect(reports.reduce((sum, { count }) => sum + count, 0)).toBe(31)
    expect(reports.at(-1)).toMatchObject({ code: 'INVALID_KEY' })
  })
})

describe('refusals', () => {
  test('a refusal of the service reaches the SDK with status, code, sentence and field, and is not repeated', async () => {
    const refused = {
      kind: 'refused',
      code: 'CONFLICT',
      message: 'The project is archived',
      param: 'project_id',
    } as const
    const { calls, client } = await open(refused)
    const failure = await client.admin.organization.projects.archive('proj_1').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(OpenAI.ConflictError)
    expect(failure).toMatchObject({
      status: 409,
      code: 'CONFLICT',
      param: 'project_id',
      message: '409 The project is archived',
    })
    expect((failure as InstanceType<typeof OpenAI.APIError>).requestID).toMatch(/^[0-9a-f-]{36}$/)
    expect(calls).toHaveLength(1)
  })

  test('a change that nobody confirmed is not repeated by its client, and a read is', async () => {
    const { calls, client } = await open(
      new GatewayError('SERVICE_UNAVAILABLE', 'A part of the gateway does not answer'),
    )
    const { projects } = client.admin.organization
    await expect(projects.create({ name: 'Search' })).rejects.toThrow('which may have been made')
    expect(calls).toHaveLength(1)
    await expect(projects.retrieve('proj_1')).rejects.toThrow('does not answer')
    expect(calls.length).toBeGreaterThan(2)
  })

  test('a body that is no object is refused', async () => {
    const { calls, call } = await open()
    const response = await call('/v1/organization/projects', { method: 'POST', body: [1] })
    expect(await response.json()).toMatchObject({
      error: { code: 'VALIDATION_ERROR', message: 'body: must be an object' },
    })
    expect(calls).toEqual([])
  })

  test('a call of OpenAI’s that the gateway has not is a 404 that names its replacement', async () => {
    const { client } = await open()
    const failure = await client.admin.organization.invites.list().then(
      () => null,
      (error: unknown) => error,
    )
    expect(failure).toMatchObject({ status: 404, code: 'NOT_FOUND' })
    expect(String(failure)).toContain('invite people at the identity provider')
  })
})

describe('a change that metering makes', () => {
  async function redeliver(checked: AdministerReply, authorized: AdministerReply) {
    const calls: [service: string, operation: string, isAudited: boolean][] = []
    const url = await openAdministration(opened, {
      async administer({ operation, input }) {
        calls.push(['keys', operation, 'audited' in input])
        return authorized
      },
      async metering({ operation }) {
        calls.push(['metering', operation, false])
        return operation === 'changes.check' ? checked : { kind: 'done', output: { redelivered: true } }
      },
    })
    const headers = { authorization: `Bearer ${adminKey}` }
    const response = await fetch(`${url}/admin/v1/webhooks/dead_letters/dead_1/redeliver`, { method: 'POST', headers })
    return { status: response.status, calls }
  }
  const allowed: AdministerReply = { kind: 'done', output: { id: 'operator', role: 'owner' } }
  const unknown = { kind: 'refused', code: 'NOT_FOUND', message: 'There is none' } as const
  const questions = ['keys', 'administrators.authorize', false]
  const audits = ['keys', 'administrators.authorize', true]
  const checks = ['metering', 'changes.check', false]
  const changes = ['metering', 'webhooks.redeliver', false]

  test('stands in the audit log before it is made', async () => {
    const made = await redeliver({ kind: 'done', output: { refusal: null } }, allowed)
    expect(made).toEqual({ status: 200, calls: [questions, checks, audits, changes] })
  })

  test('does not stand in the audit log where metering refuses it', async () => {
    const refused = await redeliver({ kind: 'done', output: { refusal: unknown } }, allowed)
    expect(refused).toEqual({ status: 404, calls: [questions, checks] })
  })

  test('is made by a metering of a former release, which knows no such check', async () => {
    const made = await redeliver(unknown, allowed)
    expect(made).toEqual({ status: 200, calls: [questions, checks, audits, changes] })
  })

  test('is nothing that a caller without the right learns of', async () => {
    const forbidden = { kind: 'refused', code: 'FORBIDDEN', message: 'no' } as const
    expect(await redeliver(unknown, forbidden)).toEqual({ status: 403, calls: [questions] })
  })
})

test('a call that the edge serves itself needs the consent of keys first, and a refusal reaches no other service', async () => {
  const { calls, call } = await open({ kind: 'refused', code: 'FORBIDDEN', message: 'no' })
  for (const [name, { method, path }] of ROWS.filter(([, { service }]) => service === 'edge')) {
    const { status } = await call(path.replace(/\{(\w+)\}/g, 'proj_x'), { method })
    expect([name, status]).toEqual([name, 403])
    expect(calls.pop()).toMatchObject({ operation: 'administrators.authorize', input: { for: name } })
  }
})

test.each(['/admin/v1/config', '/v1/organization/usage/completions', '/v1/organization/costs'])(
  'few calls of one caller to %s run at once, more wait, and further ones are refused; other callers go on',
  async (path) => {
    const pending = Promise.withResolvers<AdministerReply>()
    const { calls, call } = await open(pending.promise)
    const flood = Array.from({ length: 100 }, () => call(path, { key: 'good-token' }))
    const refused = await Promise.any(flood)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(calls).toHaveLength(4)
    const other = call(path)
    const otherPath = call('/v1/organization/projects', { key: 'good-token' })
    await expect.poll(() => calls.length).toBe(6)
    pending.resolve({ kind: 'refused', code: 'FORBIDDEN', message: 'no' })
    expect([(await other).status, (await otherPath).status]).toEqual([403, 403])
    const statuses = (await Promise.all(flood)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 403)).toHaveLength(4 + 64)
    expect(statuses.filter((status) => status === 429)).toHaveLength(100 - 4 - 64)
  },
)

test("a project's usage needs the consent of keys for this project", async () => {
  const { calls, call } = await open({ kind: 'refused', code: 'NOT_FOUND', message: 'There is no project proj_x' })
  const { status } = await call('/admin/v1/projects/proj_x/usage?from=2026-11-01&to=2026-11-02')
  expect(status).toBe(404)
  expect(calls).toMatchObject([
    { operation: 'administrators.authorize', input: { for: 'projectViews.usage', project_id: 'proj_x' } },
  ])
})

test('a config is checked as the file that it is, and its mistakes are named with their lines', async () => {
  const { call } = await open()
  const check = async (yaml: string, type = 'application/yaml') => {
    const headers = { 'content-type': type }
    const response = await call('/admin/v1/config/check', { method: 'POST', text: yaml, headers })
    expect(response.status).toBe(200)
    return (await response.json()) as { usable: boolean; problems: object[] }
  }
  expect(await check('extends: default\n')).toMatchObject({ usable: true, problems: [] })
  expect(await check('extends: default\npols: []\n')).toMatchObject({ usable: false, problems: [{ line: 2 }] })
  expect(await check('extends: default\n', 'text/plain; charset=utf-8')).toMatchObject({ usable: true })
  const long = `extends: default\n${'# a comment\n'.repeat(20_000)}`
  expect(await check(long)).toMatchObject({ usable: true })
})

test('a config in another form than YAML is refused with the form to send', async () => {
  const { call, calls } = await open()
  const check = async (sent: Sent) => {
    const response = await call('/admin/v1/config/check', { method: 'POST', ...sent })
    const { error } = (await response.json()) as { error: { message: string } }
    return [response.status, error.message]
  }
  expect(await check({ body: { yaml: 'extends: default' } })).toEqual([
    415,
    'Send the body as content-type application/yaml',
  ])
  const headers = { 'content-type': 'text/plain; charset=latin1' }
  expect(await check({ text: 'extends: default', headers })).toEqual([415, 'Send the body as UTF-8'])
  expect(calls).toEqual([])
})
