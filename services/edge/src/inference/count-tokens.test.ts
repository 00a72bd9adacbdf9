import { loadDefaultConfig } from '@gateway/config/load-config'
import { describe, expect, test } from 'vitest'
import type { EdgeContext } from '../edge-context.ts'
import { type Policy, readPolicy } from '../core/policy.ts'
import { countPromptTokens } from './count-tokens.ts'

const { config } = loadDefaultConfig()

/** The client's response, where each backend counts 77 tokens. */
async function counted(plan: string, model: string, policy?: Policy) {
  const pools: string[] = []
  const countAtBackends = async ({ pool }: { pool: string }) => {
    pools.push(pool)
    return 77
  }
  const handle = countPromptTokens({ config: { current: config }, countAtBackends } as unknown as EdgeContext)
  const headers: Record<string, string> = {}
  let body: unknown
  const locals = { measured: { requestId: 'id' }, reservation: { cpu: { sender: 'a', usedThread() {} } } }
  const response = {
    locals,
    setHeader: (name: string, value: string) => void (headers[name] = value),
    json: (json: unknown) => void (body = json),
  }
  const request = { headers: {}, body: { model, messages: [{ role: 'user', content: 'Hello' }] } }
  await handle(request as never, response as never, { plan, project: policy ? { policy } : null } as never)
  return { pools, body, kind: headers['x-svc-token-count'] }
}

test('a backend counts for a model that the plan includes', async () => {
  expect(await counted('pro', 'svc-pro')).toMatchObject({ body: { input_tokens: 77 }, kind: 'exact' })
})

test('no backend counts for a model outside the plan', async () => {
  const { pools, kind, body } = await counted('free', 'svc-pro')
  expect([pools, kind]).toEqual([[], 'estimate'])
  expect(body).toEqual({ input_tokens: expect.any(Number) })
})

describe('in a project, no prompt reaches a backend that a request of its key could not reach', () => {
  const policyOf = (models: object | null, ofKey: string[] | null = null) =>
    readPolicy({
      hint: '1',
      project: JSON.stringify({ models, hostedTools: [] }),
      key: JSON.stringify({ models: ofKey, userId: null }),
    })
  const names = { denied: ['svc-pro'], others: ['svc-core'] }

  test.each([
    ['its deny list', policyOf({ mode: 'deny_list', ids: names.denied })],
    ['its allow list', policyOf({ mode: 'allow_list', ids: names.others })],
    ["the key's own list", policyOf(null, names.others)],
  ])('by %s', async (_, policy) => {
    const { pools, kind } = await counted('pro', 'svc-pro', policy)
    expect([pools, kind]).toEqual([[], 'estimate'])
    expect(await counted('pro', 'svc-core', policy)).toMatchObject({ body: { input_tokens: 77 }, kind: 'exact' })
  })
})
