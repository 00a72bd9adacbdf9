/**
 * A project's owner and a payment system act without the operator, on a cluster of two edges. The project hits its limit, and somebody
 * pays. The owner switches overage on within the operator's bounds. The payment system signs with the library of Standard Webhooks.
 */

import { randomBytes, randomUUID } from 'node:crypto'
import type OpenAI from 'openai'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postWebhook } from '../../services/metering/src/webhooks/post-webhook.ts'
import { send, signInAs, userMessages } from '../promises/gateway.ts'
import { adminClient, type AdministeredCluster, openAdministered } from './administered.ts'

const TOP_UP_PAGE = 'https://pay.example/top-up?from=gateway#now'
const [CURRENT, FORMER, FOREIGN] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64'))
const ALLOWANCE = 100
const SMALL = { slug: 'small', limit: ALLOWANCE, rpm: 100_000, tpm: 1e9, ownersSwitchOverage: 'limited' }

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
let admin: OpenAI
beforeAll(async () => {
  administered = await openAdministered(stack, {
    plans: [SMALL],
    environment: { TOPUP_URL: TOP_UP_PAGE, TOP_UP_SECRETS: `${CURRENT},${FORMER}` },
  })
  ;({ admin } = administered)
})
afterAll(() => stack.disposeAsync())

const edge = (turn: number) => administered.gateway.urls[turn % 2]!

interface Team {
  project: string
  key: string
  /** Sign-in tokens. */
  owner: string
  member: string
}

async function newTeam(): Promise<Team> {
  const { projects, users } = admin.admin.organization
  const { id: project } = await projects.create({ name: 'search', plan: SMALL.slug } as { name: string })
  const { api_key: key } = await projects.serviceAccounts.create(project, { name: 'production' })
  const [owner, member] = await Promise.all(
    (['owner', 'member'] as const).map(async (role) => {
      const name = `self-service-${role}-${randomUUID()}`
      const token = await signInAs(administered.gateway, name)
      await send(edge(0), '/admin/v1/me', { key: token })
      const { data } = await users.list({ limit: 100 })
      const { id: user_id } = data.find((candidate) => candidate.name === name)!
      await projects.users.create(project, { user_id, role })
      return token
    }),
  )
  return { project, key: key!.value, owner: owner!, member: member! }
}

const chat = { model: 'svc-instant', messages: userMessages('Say: hello'), max_tokens: 20 }
const sendChat = (key: string, turn = 0) => send(edge(turn), '/v1/chat/completions', { key, body: chat })

/** Resolves with the 402. */
async function useUp(key: string): Promise<{ topupUrl: string; message: string }> {
  for (let turn = 0; turn < 100; turn++) {
    const { status, body } = await sendChat(key, turn)
    if (status === 402) return body['error'] as { topupUrl: string; message: string }
    expect(status).toBe(200)
  }
  throw new Error('the allowance is not used up')
}

/** As the payment system does: the library signs. */
async function pay(payment: object, { secrets = [CURRENT!], turn = 0 } = {}): Promise<string> {
  const endpoint = { url: `${edge(turn)}/billing/top-ups`, secrets, allowPrivate: true }
  const message = { eventId: `msg_${randomUUID()}`, payload: JSON.stringify(payment) }
  const outcome = await postWebhook(endpoint, message, { stopping: new AbortController().signal })
  return outcome.kind === 'delivered' ? outcome.kind : `${outcome.kind}: ${'fault' in outcome ? outcome.fault : ''}`
}

const switchOverage = (project: string, overage: boolean, key: string) =>
  send(edge(1), `/admin/v1/projects/${project}`, { method: 'PATCH', key, body: { overage } })

test('a team that hits its limit pays by the address in the refusal, and its next request passes on every edge', async () => {
  const { project, key } = await newTeam()
  const { topupUrl } = await useUp(key)
  expect(topupUrl).toBe(`https://pay.example/top-up?from=gateway&project=${project}#now`)
  const payment = { id: randomUUID(), project: new URL(topupUrl).searchParams.get('project'), amount: 1_000 }

  expect(await pay(payment, { secrets: [FOREIGN!] })).toContain('replied 401')
  expect((await sendChat(key)).status).toBe(402)

  // By either secret of a rotation, at once, on both edges.
  const reports = Array.from({ length: 12 }, (_, turn) =>
    pay(payment, { secrets: [[CURRENT!, FORMER!][turn % 2]!], turn }),
  )
  expect(new Set(await Promise.all(reports))).toEqual(new Set(['delivered']))
  for (const turn of [0, 1]) {
    const { status, headers } = await sendChat(key, turn)
    expect([status, headers.get('x-svc-quota-limit')]).toEqual([200, String(ALLOWANCE + 1_000)])
  }
  expect(await pay({ ...payment, amount: 2_000 })).toMatch(/replied 409.*CONFLICT/)
  expect(await pay({ ...payment, id: randomUUID(), project: 'proj_nobody00' })).toContain('replied 404')

  const { data } = await admin.admin.organization.auditLogs.list({
    project_ids: [project],
    event_types: ['account.updated'] as never,
  })
  expect(data).toMatchObject([
    { actor: { session: { user: { id: 'payment_system' } } }, after: { top_up: { id: payment.id, amount: 1_000 } } },
  ])
})

test('a payment that is reported while keys stands still, and again afterwards, counts once', async () => {
  const { project, key } = await newTeam()
  const payment = { id: randomUUID(), project, amount: 1_000 }
  const keys = administered.cluster.processes.filter(({ plan }) => plan.service === 'keys')
  for (const process of keys) process.kill('SIGSTOP')
  const first = await pay(payment).finally(() => keys.forEach((process) => process.kill('SIGCONT')))
  expect(first).toContain('replied 503')
  await expect.poll(() => pay(payment), { timeout: 20_000 }).toBe('delivered')
  for (const turn of [0, 1]) {
    expect((await sendChat(key, turn)).headers.get('x-svc-quota-limit')).toBe(String(ALLOWANCE + 1_000))
  }
})

test('the address of a personal account is the one that the operator set', async () => {
  const { gateway } = administered
  const token = await signInAs(gateway, `self-service-${randomUUID()}`)
  const { body } = await send(edge(0), '/v1/keys/developer', { method: 'POST', key: token, body: {} })
  const { personal_project_id: own } = (await send(edge(0), '/admin/v1/me', { key: token })).body
  await adminClient(gateway, administered.adminKey).patch(`${edge(0)}/admin/v1/accounts/${String(own)}`, {
    body: { plan: SMALL.slug },
  })
  expect((await useUp(String(body['key']))).topupUrl).toBe(TOP_UP_PAGE)
})

test("an owner switches overage on below the operator's spend limit, a member does not, and the audit log names the owner", async () => {
  const { project, key, owner, member } = await newTeam()
  await useUp(key)
  const refused = await switchOverage(project, true, owner)
  expect(refused).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringContaining('spend limit first') } },
  })

  const { projects, auditLogs } = admin.admin.organization
  await projects.spendLimit.update(project, { currency: 'USD', interval: 'month', allowance: 300 } as never)
  expect((await switchOverage(project, true, member)).status).toBe(403)
  expect((await sendChat(key)).status).toBe(402)

  const { status, body } = await switchOverage(project, true, owner)
  expect([status, body]).toMatchObject([200, { overage: true, limit: 300, limit_of: 'spend_limit' }])
  for (const turn of [0, 1]) expect((await sendChat(key, turn)).status).toBe(200)
  expect((await useUp(key)).message).toContain('spend limit')

  expect((await switchOverage(project, false, owner)).status).toBe(200)
  const { data } = await auditLogs.list({ project_ids: [project], event_types: ['account.updated'] as never })
  const { id } = (await send(edge(0), '/admin/v1/me', { key: owner })).body
  const ofOwner = { actor: { session: { user: { id } } } }
  expect(data).toMatchObject([
    { ...ofOwner, after: { overage: false } },
    { ...ofOwner, after: { overage: true } },
  ])
})
