import { loadDefaultConfig } from '@gateway/config/load-config'
import { expect, test } from 'vitest'
import type { EdgeContext } from '../edge-context.ts'
import { countPromptTokens } from './count-tokens.ts'

const { config } = loadDefaultConfig()

/** The client's response, where each backend counts 77 tokens. */
async function counted(plan: string, model: string) {
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
  await handle(request as never, response as never, { plan } as never)
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
