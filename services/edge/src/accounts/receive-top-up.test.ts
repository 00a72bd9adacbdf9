import { createHmac, randomUUID } from 'node:crypto'
import type { AdministerReply, AdministerRequest } from '@gateway/contracts/administration/envelope'
import { TOP_UPS_PATH } from '@gateway/contracts/top-ups'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAdministration } from '../../test/administration.ts'
import { routes } from '../routes.ts'

const SECRET = Buffer.from('s'.repeat(32)).toString('base64')
const ACCOUNT: AdministerReply = { kind: 'done', output: { id: 'proj_Search01', object: 'account', extra: 7 } }

let opened: AsyncDisposableStack
beforeEach(() => void (opened = new AsyncDisposableStack()))
afterEach(() => opened.disposeAsync())

/** A keys service that gives one reply, and remembers its requests. */
async function open(reply: AdministerReply = ACCOUNT, environment: NodeJS.ProcessEnv = { TOP_UP_SECRETS: SECRET }) {
  const calls: { request: AdministerRequest; isRepeatable: boolean }[] = []
  const administer = async (request: AdministerRequest, isRepeatable: boolean) => {
    calls.push({ request, isRepeatable })
    return reply
  }
  const url = await openAdministration(opened, {
    administer,
    environment,
    routes: { [TOP_UPS_PATH]: routes[TOP_UPS_PATH] },
  })
  const send = async (body: unknown, { secret = SECRET, id = 'msg_1' } = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const seconds = Math.floor(Date.now() / 1_000)
    const key = Buffer.from(secret, 'base64')
    const response = await fetch(`${url}${TOP_UPS_PATH}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(seconds),
        'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${text}`).digest('base64')}`,
      },
      body: text,
    })
    const advice = response.headers.get('www-authenticate')
    return { status: response.status, advice, body: (await response.json()) as Record<string, unknown> }
  }
  return { calls, send }
}

const topUp = () => ({ id: randomUUID(), project: 'proj_Search01', amount: 25 })

test('a signed payment is one repeatable top-up in the name of the payment system', async () => {
  const { calls, send } = await open()
  const paid = topUp()
  expect(await send(paid)).toMatchObject({ status: 200, body: { object: 'top_up', ...paid } })
  expect(calls).toMatchObject([
    {
      request: {
        operation: 'accounts.topUp',
        input: { account_id: paid.project, id: paid.id, amount: 25 },
        credential: { kind: 'payment_system' },
        origin: { address: '127.0.0.1' },
      },
      isRepeatable: true,
    },
  ])
})

test('the response is the same for each report of a payment, also where the account has changed meanwhile', async () => {
  const paid = topUp()
  const first = await (await open()).send(paid)
  const later = await (await open({ kind: 'done', output: { id: paid.project, extra: 32, plan: 'payg' } })).send(paid)
  expect(later).toEqual(first)
})

test('another secret changes nothing, and the audit log gets the refusal', async () => {
  const { calls, send } = await open()
  const refused = await send(topUp(), { secret: Buffer.from('x'.repeat(32)).toString('base64') })
  expect(refused).toMatchObject({
    status: 401,
    advice: expect.stringContaining('webhook-timestamp'),
    body: { code: 'INVALID_TOKEN' },
  })
  expect(calls.map(({ request }) => request.credential.kind)).toEqual(['refused'])
})

test('an unsigned body is not even parsed', async () => {
  const { calls, send } = await open()
  expect((await send('{', { secret: Buffer.from('x'.repeat(32)).toString('base64') })).status).toBe(401)
  expect(await send('{')).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
  expect(calls.filter(({ request }) => request.credential.kind !== 'refused')).toEqual([])
})

test('a body of more than 4 KB is refused unread', async () => {
  const { calls, send } = await open()
  expect((await send({ ...topUp(), project: 'x'.repeat(5_000) })).status).toBe(413)
  expect(calls).toEqual([])
})

test('without secrets the call is a 404 that names the variable to set', async () => {
  const { calls, send } = await open(ACCOUNT, {})
  const { status, body } = await send(topUp())
  expect([status, body]).toMatchObject([404, { error: { message: expect.stringContaining('TOP_UP_SECRETS') } }])
  expect(calls).toEqual([])
})

describe('a signed body is refused, and its field named, where', () => {
  test.each([
    ['the id is no UUID', { id: 'pi_1' }, 'id: '],
    ['nothing is paid', { amount: 0 }, 'amount: '],
    ['the amount is text', { amount: '5' }, 'amount: '],
    ['no project is named', { project: '' }, 'project: '],
    ['a member is unknown', { unit: 'eur' }, 'unit'],
  ])('%s', async (_, wrong, message) => {
    const { calls, send } = await open()
    const refused = await send({ ...topUp(), ...wrong })
    expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining(message) } })
    expect(calls).toEqual([])
  })
})

test.each([
  ['CONFLICT', 409],
  ['NOT_FOUND', 404],
] as const)('a refusal of the keys service is passed on: %s', async (code, status) => {
  const { send } = await open({ kind: 'refused', code, message: 'for a reason' })
  expect(await send(topUp())).toMatchObject({ status, body: { error: { code, message: 'for a reason' } } })
})
