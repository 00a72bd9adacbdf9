/**
 * Every route of the administration API with every credential, on the whole gateway in this process.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import { formatAdminKey } from '@gateway/contracts/admin-key'
import type { Access, Operation } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
import { randomBase62 } from '@gateway/contracts/api-key'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GatewayInProcess, startGatewayInProcess } from '../prices/gateway-in-process.ts'
import { newDeveloper, newGuest, send, signInAs } from '../promises/gateway.ts'

const ROWS: [string, Operation][] = Object.entries(operations)

let gateway: GatewayInProcess
let owner: OpenAI
let ownerToken: string
beforeAll(async () => {
  gateway = await startGatewayInProcess()
  ownerToken = await signInAs(gateway, 'owner')
  owner = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: null, adminAPIKey: ownerToken, maxRetries: 0 })
})
afterAll(() => gateway?.[Symbol.asyncDispose]())

type Refusal = '401 NO_AUTH' | '401 INVALID_KEY' | '401 INVALID_TOKEN' | '403 FORBIDDEN' | '404 NOT_FOUND'
const PASSES = 'passes'
type Expected = Refusal | typeof PASSES

/** A request of the row on the project. Ids that nobody has, and no members: a caller who may make the call learns of them. */
async function outcomeOf(row: Operation, project: string, key: string | undefined): Promise<string> {
  const path = row.path.replace('{project_id}', project).replace(/\{\w+\}/g, 'unknown')
  const { status, body } = await send(gateway.url, path, {
    method: row.method,
    ...(key !== undefined && { key }),
    ...(row.method !== 'GET' && { body: { 'no such member': 1 } }),
    ...(row.isYaml && { headers: { 'content-type': 'application/yaml' } }),
  })
  const { code = '', message = '' } = (body['error'] ?? {}) as { code?: string; message?: string }
  const isRefused = status === 401 || status === 403 || message === `There is no project ${project}`
  if (isRefused) return `${status} ${code}`
  return status < 500 ? PASSES : `${status} ${code}: ${message}`
}

async function walk(key: string | undefined, expected: (access: Access, path: string) => Expected): Promise<void> {
  const { id: project } = await owner.admin.organization.projects.create({ name: 'Walked' })
  await expectOutcomes(project, key, expected)
}

async function expectOutcomes(
  project: string,
  key: string | undefined,
  expected: (access: Access, path: string) => Expected,
): Promise<void> {
  const wrong: string[] = []
  for (const [name, row] of ROWS) {
    const outcome = await outcomeOf(row, project, key)
    const right = expected(row.access, row.path)
    if (outcome !== right) wrong.push(`${name} (${row.access}): ${outcome}, not ${right}`)
  }
  expect(wrong).toEqual([])
}

const newAdminKey = async () => {
  const { id, value } = await owner.admin.organization.adminAPIKeys.create({ name: 'Walk' })
  return { id, key: value }
}

describe('every route refuses', () => {
  test('nothing', () => walk(undefined, () => '401 NO_AUTH'))

  test('a forged admin key', () => {
    const random = (length: number) => randomBase62(length, randomBytes)
    return walk(formatAdminKey({ keyId: random(8), secret: random(32) }), () => '401 INVALID_KEY')
  })

  test('a revoked admin key', async () => {
    const { id, key } = await newAdminKey()
    await walk(key, () => PASSES)
    await owner.admin.organization.adminAPIKeys.delete(id)
    await walk(key, () => '401 INVALID_KEY')
  })

  test("a token with another one's signature", async () => {
    const [head, , signature] = ownerToken.split('.')
    const [, payload] = (await signInAs(gateway, 'owner-2')).split('.')
    await walk([head, payload, signature].join('.'), () => '401 INVALID_TOKEN')
  })

  test("a developer's key", async () => walk((await newDeveloper(gateway)).key, () => '403 FORBIDDEN'))

  test("a guest's key", async () => walk((await newGuest(gateway)).key, () => '403 FORBIDDEN'))

  test("a project's own key", async () => {
    const { projects } = owner.admin.organization
    const { id } = await projects.create({ name: 'Keyed' })
    const account = await projects.serviceAccounts.create(id, { name: 'nightly' })
    await expectOutcomes(id, account.api_key!.value, () => '403 FORBIDDEN')
    expect(await projects.retrieve(id)).toMatchObject({ status: 'active', name: 'Keyed' })
    expect((await projects.serviceAccounts.list(id)).data).toHaveLength(1)
  })
})

describe('a route shows', () => {
  test('a caller without a role the own projects alone, and nothing of the organization', async () => {
    const token = await signInAs(gateway, `somebody-${randomUUID()}`)
    await walk(token, (access, path) => {
      if (access === 'signed in') return PASSES
      return path.includes('{project_id}') ? '404 NOT_FOUND' : '403 FORBIDDEN'
    })
  })

  test('a reader everything, and lets it change nothing', async () => {
    const readable = new Set<Access>(['signed in', 'reader', 'project reader', 'reader or project owner'])
    await walk(await signInAs(gateway, 'reader'), (access) => (readable.has(access) ? PASSES : '403 FORBIDDEN'))
  })

  test('an owner and an admin key everything', async () => {
    await walk(ownerToken, () => PASSES)
    await walk((await newAdminKey()).key, () => PASSES)
  })

  test.each([
    ['member', ['signed in', 'project reader', 'project member']],
    ['owner', ['signed in', 'project reader', 'project member', 'project owner']],
  ] as const)('a %s of a project this project', async (role, open) => {
    const name = `${role}-of-project-${randomUUID()}`.replace(/^owner/, 'leader')
    const token = await signInAs(gateway, name)
    await send(gateway.url, '/v1/organization/projects', { key: token })
    const users = await owner.admin.organization.users.list({ limit: 100 })
    const user = users.data.find((candidate) => candidate.name === name)!
    const { id } = await owner.admin.organization.projects.create({ name: 'Shared' })
    await owner.admin.organization.projects.users.create(id, { user_id: user.id, role })
    await expectOutcomes(id, token, (access) =>
      (open as readonly Access[]).includes(access) ? PASSES : '403 FORBIDDEN',
    )
  })
})

test('an admin key opens no inference, and none of the other routes that take a key', async () => {
  const { key } = await newAdminKey()
  const body = { model: 'svc-instant', messages: [{ role: 'user', content: 'Hello' }] }
  for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings', '/v1/quote']) {
    expect([path, (await send(gateway.url, path, { key, body })).status]).toEqual([path, 401])
  }
  for (const path of ['/v1/plan', '/billing/quota', '/v1/usage', '/v1/keys/developer']) {
    expect([path, (await send(gateway.url, path, { key })).status]).toEqual([path, 401])
  }
})
