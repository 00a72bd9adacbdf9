/**
 * A platform team administers a cluster from nothing with OpenAI's official SDKs, of Node and of Python.
 */

import { execFile } from 'node:child_process'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pythonWith } from '../scripts/python.ts'
import { type AdministeredCluster, chatUntilRefused, openAdministered } from './administration/administered.ts'

/** Of November 2026; the workspace has the SDK of Node. */
const PYTHON_SDK = '3.57.0'

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
beforeAll(async () => void (administered = await openAdministered(stack)))
afterAll(() => stack.disposeAsync())

const organization = () => administered.admin.admin.organization
const inferenceWith = (apiKey: string, at = 0) =>
  new OpenAI({ baseURL: `${administered.gateway.urls[at]}/v1`, apiKey, maxRetries: 0 })

const environment = () => ({
  ...process.env,
  OPENAI_BASE_URL: `${administered.gateway.urls[0]}/v1`,
  OPENAI_ADMIN_KEY: administered.adminKey,
})

interface NamedKey {
  id: string
  value: string
}
/** Ours: the SDK has no call for it. */
const newNamedKey = (project: string, body: object): Promise<NamedKey> =>
  administered.admin.post<NamedKey>(`/organization/projects/${project}/api_keys`, { body })

async function newProject(plan?: string) {
  const { id } = await organization().projects.create({ name: 'Search', ...(plan && { plan }) })
  const account = await organization().projects.serviceAccounts.create(id, { name: 'nightly' })
  return { id, account, key: account.api_key!.value }
}

describe('each limit holds exactly, and its refusal names it', () => {
  test('requests a minute of a model', async () => {
    const { id, key } = await newProject()
    const rate = await organization().projects.rateLimits.updateRateLimit('rl_svc-instant', {
      project_id: id,
      max_requests_per_1_minute: 3,
    })
    expect(rate).toMatchObject({ model: 'svc-instant', max_requests_per_1_minute: 3 })
    expect(await chatUntilRefused(inferenceWith(key), { model: 'svc-instant', most: 9 })).toMatchObject({
      admitted: 3,
      refusal: { status: 429, code: 'rate_limit_exceeded', type: 'requests', scope: 'model' },
    })
    expect(await chatUntilRefused(inferenceWith(key), { model: 'svc-fast', most: 2 })).toMatchObject({ admitted: 2 })
  })

  test('requests a minute of a key, beside another key of the project', async () => {
    const { id, key } = await newProject()
    const named = await newNamedKey(id, { name: 'laptop', max_requests_per_1_minute: 2 })
    expect(await chatUntilRefused(inferenceWith(named.value, 1), { model: 'svc-instant', most: 9 })).toMatchObject({
      admitted: 2,
      refusal: { status: 429, code: 'rate_limit_exceeded', type: 'requests', scope: 'key' },
    })
    expect(await chatUntilRefused(inferenceWith(key), { model: 'svc-instant', most: 4 })).toMatchObject({ admitted: 4 })
  })

  test('the models of a key, and those of a project', async () => {
    const { id, key } = await newProject()
    const named = await newNamedKey(id, { name: 'laptop', models: ['svc-fast'] })
    const planLimit = { status: 429, code: 'rate_limit_exceeded', type: 'plan_limit' }
    expect(await chatUntilRefused(inferenceWith(named.value), { model: 'svc-instant', most: 1 })).toMatchObject({
      refusal: { ...planLimit, scope: 'key' },
    })
    expect(await chatUntilRefused(inferenceWith(named.value), { model: 'svc-fast', most: 1 })).toMatchObject({
      admitted: 1,
    })
    await organization().projects.modelPermissions.update(id, { mode: 'deny_list', model_ids: ['svc-instant'] })
    for (const at of [0, 1]) {
      expect(await chatUntilRefused(inferenceWith(key, at), { model: 'svc-instant', most: 1 })).toMatchObject({
        refusal: { ...planLimit, scope: 'account' },
      })
    }
    await organization().projects.modelPermissions.delete(id)
    expect(await chatUntilRefused(inferenceWith(key), { model: 'svc-instant', most: 1 })).toMatchObject({ admitted: 1 })
  })

  test('the month of a key, and the hard limit of a project in cents', async () => {
    const { id, key } = await newProject('payg')
    const named = await newNamedKey(id, { name: 'laptop', monthly_limit: 0.0003 })
    const ofKey = await chatUntilRefused(inferenceWith(named.value), { model: 'svc-instant', most: 40 })
    expect(ofKey).toMatchObject({ refusal: { status: 402, code: 'quota_exceeded', scope: 'key' } })
    expect(ofKey.tokens).toBeGreaterThanOrEqual(100)

    const before = ofKey.tokens
    await organization().projects.spendLimit.update(id, { currency: 'USD', interval: 'month', threshold_amount: 1 })
    const says = `Say: ${'many words '.repeat(100)}`
    const ofProject = await chatUntilRefused(inferenceWith(key), { model: 'svc-instant', most: 100, says })
    expect(ofProject).toMatchObject({ refusal: { status: 402, code: 'quota_exceeded', scope: 'account' } })
    // A cent is 3,333 tokens; the last request may pass it by its own size.
    expect(before + ofProject.tokens).toBeGreaterThanOrEqual(3_333)
    const enforcement = async () => (await organization().projects.spendLimit.retrieve(id)).enforcement.status
    await expect.poll(enforcement, { timeout: 20_000 }).toBe('enforcing')
    await organization().projects.spendLimit.delete(id)
    expect(await chatUntilRefused(inferenceWith(key), { model: 'svc-instant', most: 1 })).toMatchObject({ admitted: 1 })
  })

  test('the time of a key', async () => {
    const { id } = await newProject()
    const named = await newNamedKey(id, { name: 'demo', expires_in_seconds: 2 })
    expect(await chatUntilRefused(inferenceWith(named.value), { model: 'svc-instant', most: 1 })).toMatchObject({
      admitted: 1,
    })
    await expect
      .poll(() => chatUntilRefused(inferenceWith(named.value), { model: 'svc-instant', most: 1 }), { timeout: 5_000 })
      .toMatchObject({ refusal: { status: 401, code: 'INVALID_KEY' } })
  })
})

test('the audit log names each change of a project', async () => {
  const { id } = await newProject('payg')
  await organization().projects.update(id, { name: 'Search, renamed' })
  await organization().projects.archive(id)
  const entries = await organization().auditLogs.list({ project_ids: [id], limit: 100 })
  expect(entries.data.map(({ type }) => type).toReversed()).toEqual([
    'project.created',
    'service_account.created',
    'api_key.created',
    'project.updated',
    'project.archived',
  ])
})

test('usage and costs are those of the responses, by key and model', async () => {
  const since = Math.floor(Date.now() / 1_000)
  const { id, account, key } = await newProject('payg')
  const done = await chatUntilRefused(inferenceWith(key), { model: 'svc-instant', most: 5 })
  expect(done).toMatchObject({ admitted: 5, refusal: null })
  const { usage } = organization()

  const rows = async () => {
    const page = await usage.completions({
      start_time: since - 60,
      project_ids: [id],
      group_by: ['api_key_id', 'model'],
    })
    return page.data.flatMap(({ results }) => results)
  }
  await expect
    .poll(rows, { timeout: 10_000 })
    .toMatchObject([{ num_model_requests: 5, model: 'svc-instant', api_key_id: account.api_key!.id }])
  const [row] = (await rows()) as { input_tokens: number; output_tokens: number }[]
  expect(row!.input_tokens + row!.output_tokens).toBe(done.tokens)
  const costs = await usage.costs({ start_time: since - 86_400, project_ids: [id] })
  const spent = costs.data.flatMap(({ results }) => results as { amount: { value: number } }[])
  expect(spent.reduce((sum, { amount }) => sum + amount.value, 0)).toBeCloseTo((done.tokens * 3) / 1e6, 9)
})

test('usage of images has the images of the responses', async () => {
  const since = Math.floor(Date.now() / 1_000)
  const { id, account, key } = await newProject()
  const client = inferenceWith(key)
  const sent = [1, 3].map((n) => client.images.generate({ model: 'svc-image', prompt: 'a red square', n }))
  const received = (await Promise.all(sent)).reduce((sum, { data }) => sum + data!.length, 0)
  expect(received).toBe(4)
  const results = async () => {
    const page = await organization().usage.images({
      start_time: since - 60,
      project_ids: [id],
      group_by: ['api_key_id', 'model'],
    })
    return page.data.flatMap((bucket) => bucket.results)
  }
  await expect
    .poll(results, { timeout: 10_000 })
    .toMatchObject([{ images: received, num_model_requests: 2, model: 'svc-image', api_key_id: account.api_key!.id }])
})

test('an archived project admits nothing, on any edge', async () => {
  const { id, key } = await newProject()
  const named = await newNamedKey(id, { name: 'laptop' })
  for (const at of [0, 1]) {
    expect(await chatUntilRefused(inferenceWith(key, at), { model: 'svc-instant', most: 1 })).toMatchObject({
      admitted: 1,
    })
  }
  expect(await organization().projects.archive(id)).toMatchObject({ status: 'archived' })
  for (const dead of [key, named.value]) {
    for (const at of [0, 1]) {
      expect(await chatUntilRefused(inferenceWith(dead, at), { model: 'svc-instant', most: 1 })).toMatchObject({
        admitted: 0,
        refusal: { status: 401, code: 'INVALID_KEY' },
      })
    }
  }
  await expect(organization().projects.update(id, { name: 'Again' })).rejects.toMatchObject({
    status: 409,
    code: 'CONFLICT',
  })
})

test('forty teams come from the script of the page, and a second run changes limits alone', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'gateway-forty-teams-'))
  const [teams, newKeys] = [join(folder.path, 'teams.json'), join(folder.path, 'new-keys.json')]
  const run = async (dollarsAMonth: number) => {
    const list = Array.from({ length: 40 }, (_, at) => ({
      team: `Team ${at}`,
      dollarsAMonth,
      models: ['svc-fast'],
      requestsAMinute: 2,
    }))
    await writeFile(teams, JSON.stringify(list))
    const script = join(import.meta.dirname, 'administration/forty-teams.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [script, teams, newKeys], { env: environment() })
    return { stdout, keys: JSON.parse(await readFile(newKeys, 'utf8')) as Record<string, string> }
  }
  const first = await run(100)
  expect(first.stdout).toBe('40 teams, 40 new\n')
  const key = first.keys['Team 39']!
  expect(await chatUntilRefused(inferenceWith(key), { model: 'svc-fast', most: 5 })).toMatchObject({
    admitted: 2,
    refusal: { status: 429, scope: 'model' },
  })
  expect(await chatUntilRefused(inferenceWith(key), { model: 'svc-core', most: 1 })).toMatchObject({
    refusal: { type: 'plan_limit', scope: 'account' },
  })
  expect(await run(200)).toEqual({ stdout: '40 teams, 0 new\n', keys: {} })
  const projects = []
  for await (const project of organization().projects.list({ limit: 7 })) projects.push(project)
  const team = projects.filter(({ name }) => name === 'Team 39')
  expect(team).toHaveLength(1)
  expect(await organization().projects.spendLimit.retrieve(team[0]!.id)).toMatchObject({ threshold_amount: 20_000 })
})

test('the official Python SDK does the same, and finds each response as its types have it', async () => {
  const programs = await pythonWith({
    folder: `openai-python-${PYTHON_SDK}`,
    packages: [`openai==${PYTHON_SDK}`],
    notice: 'installing the official Python SDK from PyPI',
  })
  const script = join(import.meta.dirname, 'administration/administer.py')
  const { stdout } = await promisify(execFile)(join(programs, 'python'), [script], {
    env: environment(),
  })
  expect(JSON.parse(stdout)).toEqual({
    admitted: 3,
    refused: [429, 'requests', 'model'],
    listed: ['nightly'],
    audited: ['project.created', 'service_account.created', 'api_key.created', 'rate_limit.updated'],
    archived: 'archived',
    afterwards: 401,
  })
})
