import { formatKey } from '@gateway/contracts/api-key'
import type { Request, Response } from 'express'
import { expect, test } from 'vitest'
import type { EdgeContext } from './edge-context.ts'
import { chat } from './requests/inference-kinds.ts'
import { stepsOf, type Route } from './create-app.ts'
import type { Handler } from './http/handler.ts'
import type { StepRequest, StepResponse } from './http/take-steps.ts'

const key = formatKey({ keyId: 'key00001', accountTag: 'account1', secret: 'x'.repeat(32) })
const active = { kind: 'active', plan: 'free', overage: false, extra: 0, used: null }

const PLANS = [
  { slug: 'free', guest: false },
  { slug: 'guest-device', guest: true },
]

/** Returns the principal that the handler of a row with `credential: 'key'` got, or the refusal. */
async function principalOf(keyState: object, onProven = (_account: string, _isGuest: boolean) => {}): Promise<unknown> {
  let given: unknown
  const route: Route = {
    credential: 'key',
    handle: () => (_request, _response, caller) => void (given = caller),
  }
  const edge = {
    plans: { isDeadKey: () => false, planOf: () => null, policyOf: () => null },
    bytes: { reserveRequest: () => ({ provenAs: onProven, cpu: { chargeOwnResponse: async () => {} } }) },
    admission: { authenticate: async () => keyState },
    config: { current: { plans: PLANS } },
  } as unknown as EdgeContext
  const request = { headers: { authorization: `Bearer ${key}` } } as StepRequest
  const response = { locals: {} } as StepResponse
  const [prove, handle] = stepsOf(edge, route)
  try {
    await prove!(request, response, () => void handle!(request, response, () => {}))
  } catch (refusal) {
    expect(given).toBeUndefined()
    return refusal
  }
  return given
}

test('a handler works for the caller whose key was proven', async () => {
  expect(await principalOf(active)).toMatchObject({ account: 'account1', keyId: 'key00001', plan: 'free' })
})

test('a guest takes the share of its network, also on an edge that has not seen its account before', async () => {
  const proven: unknown[] = []
  await principalOf({ ...active, plan: 'guest-device' }, (...args) => proven.push(args))
  expect(proven).toEqual([['account1', true]])
})

test('a handler is not reached with a dead key', async () => {
  expect(await principalOf({ kind: 'deny' })).toMatchObject({ code: 'INVALID_KEY' })
})

test('a row that forgets its credential, or takes a principal that its credential does not prove, has no type', () => {
  const forProven =
    (): Handler<'key'> =>
    (_request, response, { plan }) =>
      void response.json({ plan })
  const forAnybody = () => (_request: Request, response: Response) => void response.json({})

  const rows: unknown[] = [
    { credential: 'key', handle: forProven } satisfies Route,
    { credential: 'key', handle: forAnybody } satisfies Route,
    // @ts-expect-error: it has no credential
    { handle: forAnybody } satisfies Route,
    // @ts-expect-error: nobody has proven the caller that the handler works for
    { credential: 'none', handle: forProven } satisfies Route,
    // @ts-expect-error: a sign-in token proves no key
    { credential: 'sign-in', handle: forProven } satisfies Route,
    // @ts-expect-error: only inference may leave the proof to admission
    { credential: 'key at admission', handle: forAnybody } satisfies Route,
    // @ts-expect-error: inference is not open to anybody
    { credential: 'none', kind: chat } satisfies Route,
    // @ts-expect-error: there is no such credential
    { credential: 'a nod', handle: forAnybody } satisfies Route,
  ]
  expect(rows).toHaveLength(8)
})
