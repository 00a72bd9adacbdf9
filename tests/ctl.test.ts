/**
 * `npm run ctl`, as an operator uses it: the same commands on a cluster and on the gateway in one process.
 */

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseKey } from '@gateway/contracts/api-key'
import { startCluster } from '@gateway/testing/cluster'
import { startStandalone } from './promises/standalone.ts'

interface Place {
  edge: string
  dataDir: string
}

describe.each<{ name: string; start(stack: AsyncDisposableStack, dataDir: string): Promise<string> }>([
  {
    name: 'a cluster',
    async start(stack, dataDir) {
      const cluster = stack.use(await startCluster({ edges: 1, routers: 1, dataDir, ownServers: true }))
      return cluster.edges[0]!
    },
  },
  {
    name: 'the gateway in one process',
    async start(stack, dataDir) {
      return stack.use(await startStandalone({ environment: { DATA_DIR: dataDir } })).url
    },
  },
])('on $name', ({ start }) => {
  const stack = new AsyncDisposableStack()
  let place: Place
  let key: string
  let tag: string
  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-ctl-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    place = { dataDir, edge: await start(stack, dataDir) }
    const minted = await fetch(`${place.edge}/v1/keys/guest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ device_id: 'a-laptop' }),
    })
    key = ((await minted.json()) as { key: string }).key
    tag = parseKey(key)!.accountTag
  }, 90_000)
  afterAll(() => stack.disposeAsync(), 60_000)

  const ctl = (...args: string[]) => run(place.dataDir, ...args)

  test('an account is shown, put on another plan, allowed overage, and topped up once for each id', async () => {
    expect(await ctl('accounts', 'show', tag)).toMatchObject({ code: 0, out: expect.stringContaining('guest-device') })
    const changed = await ctl('accounts', 'set-plan', tag, 'pro')
    expect(changed).toMatchObject({ code: 0, out: expect.stringMatching(/plan +pro\n/) })
    expect((await ctl('accounts', 'set-overage', tag, 'on')).out).toMatch(/overage +on\n/)
    const id = crypto.randomUUID()
    for (let time = 0; time < 2; time++) {
      expect((await ctl('accounts', 'top-up', tag, '2500.5', '--id', id)).out).toMatch(/top-ups +2500.5 tokens/)
    }
    // A model that guests do not have: the very next request knows the new plan.
    expect(await ask(place.edge, key, 'svc-core')).toBe(200)
  })

  test('what cannot be done is said in words, with exit code 1', async () => {
    expect(await ctl('accounts', 'show', 'nobody')).toMatchObject({ code: 1, err: 'there is no such account\n' })
    const noPlan = await ctl('accounts', 'set-plan', tag, 'gold')
    expect(noPlan).toMatchObject({ code: 1, err: expect.stringMatching(/there are: .*free/) })
    expect(await ctl('accounts', 'top-up', tag, '-5')).toMatchObject({ code: 1 })
    expect(await ctl('keys', 'revoke', 'nosuchid')).toMatchObject({ code: 1, err: 'there is no such key\n' })
  })

  test('keys are sealed anew, and a revoked one is refused at once', async () => {
    expect(await ctl('keys', 'reseal')).toMatchObject({ code: 0, out: expect.stringContaining('0 keys sealed anew') })
    expect(await ask(place.edge, key)).toBe(200)
    const revoked = await ctl('keys', 'revoke', parseKey(key)!.keyId)
    expect(revoked).toMatchObject({ code: 0, out: expect.stringContaining(tag) })
    expect(await ask(place.edge, key)).toBe(401)
  })
})

test('where no gateway runs, it says so', async () => {
  const nowhere = await run(join(tmpdir(), 'no-gateway-here'), 'keys', 'reseal')
  expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('DATA_DIR') })
})

async function ask(edge: string, key: string, model = 'svc-instant'): Promise<number> {
  const response = await fetch(`${edge}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 5 }),
  })
  await response.arrayBuffer()
  return response.status
}

function run(dataDir: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const script = resolve(import.meta.dirname, '../packages/ctl/src/main.ts')
  const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir }
  return new Promise((settle) => {
    const child = execFile(process.execPath, [script, ...args], { env, timeout: 30_000 }, (_, out, err) => {
      settle({ code: child.exitCode ?? -1, out, err })
    })
  })
}
