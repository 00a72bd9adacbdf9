/**
 * `ctl` over HTTP, as an administrator uses it who has an address and an admin key, and neither a checkout nor the bus.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseKey } from '@gateway/contracts/api-key'
import { runCtl } from './promises/run-ctl.ts'
import { startStandalone } from './promises/standalone.ts'

/** Routers look several times a second. A loaded machine is slower. */
const TAKEN_UP = { timeout: 60_000, interval: 250 }

const stack = new AsyncDisposableStack()
let url: string
let adminKey: string
let dataDir: string
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'gateway-ctl-http-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  url = stack.use(await startStandalone({ environment: { DATA_DIR: dataDir } })).url
  const { out, err } = await onSocket('admin-keys', 'create', '--json')
  if (out === '') throw new Error(err)
  adminKey = (JSON.parse(out) as { value: string }).value
})
afterAll(() => stack.disposeAsync())

const onSocket = (...args: string[]) => runCtl(args, { DATA_DIR: dataDir })
const ctl = (...args: string[]) => runCtl(['--url', url, '--admin-key', adminKey, ...args], {})

async function mint(): Promise<string> {
  const response = await fetch(`${url}/v1/keys/guest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device_id: 'a-laptop' }),
  })
  return ((await response.json()) as { key: string }).key
}

async function chat(key: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-fast', messages: [{ role: 'user', content: 'hi' }] }),
  })
  await response.text()
  return response.status
}

test('an account is shown and changed with the same output as on the socket', async () => {
  const { accountTag: tag, keyId } = parseKey(await mint())!
  const shown = await ctl('accounts', 'show', tag)
  expect(shown).toEqual(await onSocket('accounts', 'show', tag))
  expect(shown).toMatchObject({ code: 0 })
  for (const command of [
    ['accounts', 'show', tag],
    ['usage', '--account', tag],
    ['usage'],
    ['keys', 'reseal'],
    ['reconcile'],
  ]) {
    const overHttp = await ctl('--json', ...command)
    expect([command, overHttp]).toEqual([command, await onSocket('--json', ...command)])
    expect(overHttp).toMatchObject({ code: 0 })
  }
  expect(await ctl('accounts', 'set-plan', tag, 'pro')).toMatchObject({ out: expect.stringMatching(/plan +pro\n/) })
  expect((await ctl('accounts', 'set-overage', tag, 'on')).out).toMatch(/overage +on\n/)
  const id = crypto.randomUUID()
  for (let time = 0; time < 2; time++)
    expect((await ctl('accounts', 'top-up', tag, '2500.5', '--id', id)).out).toMatch(/top-ups +2500.5 tokens/)
  expect(await ctl('accounts', 'show', 'nobody')).toMatchObject({ code: 1, err: 'there is no such account\n' })
  expect(await ctl('usage', '--account', tag)).toEqual(await onSocket('usage', '--account', tag))
  expect(await ctl('reconcile')).toMatchObject({ code: 0, out: expect.stringContaining('agrees') })
  expect(await ctl('keys', 'revoke', keyId)).toMatchObject({ code: 0, out: expect.stringContaining('is dead') })
})

test('a suspended account is refused until it is restored, and then has the same key', async () => {
  const key = await mint()
  const { accountTag: tag } = parseKey(key)!
  expect(await chat(key)).toBe(200)
  expect(await ctl('accounts', 'suspend', tag)).toMatchObject({ code: 0, out: expect.stringContaining('suspended') })
  expect(await chat(key)).toBe(401)
  const again = await fetch(`${url}/v1/keys/guest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device_id: 'a-laptop' }),
  })
  expect([again.status, await again.json()]).toMatchObject([403, { error: { code: 'FORBIDDEN' } }])
  expect(await onSocket('accounts', 'restore', tag)).toMatchObject({ code: 0 })
  expect(await chat(key)).toBe(200)
  expect(await mint()).toBe(key)
})

test('a drained backend gets no request; with all of them drained, requests are refused', async () => {
  const key = await mint()
  expect(await chat(key)).toBe(200)
  const { routers } = JSON.parse((await ctl('backends', '--json')).out) as {
    routers: { backends: { backend: string }[] }[]
  }
  const ids = routers[0]!.backends.map(({ backend }) => backend)
  for (const id of ids) expect(await ctl('backends', 'drain', id)).toMatchObject({ code: 0 })
  await expect.poll(() => chat(key), TAKEN_UP).toBe(503)
  expect((await ctl('backends')).out).toContain('drained')
  for (const id of ids) expect(await ctl('backends', 'restore', id)).toMatchObject({ code: 0 })
  await expect.poll(() => chat(key), TAKEN_UP).toBe(200)
})

test('a gateway checks a config file by its own version', async () => {
  const file = join(dataDir, 'new.yaml')
  await writeFile(file, 'extends: default\n')
  expect(await ctl('config', 'check', file)).toMatchObject({ code: 0, out: expect.stringContaining('can be used') })
  await writeFile(file, 'extends: default\npols: []\n')
  const wrong = await ctl('config', 'check', file)
  expect(wrong).toMatchObject({ code: 2, out: expect.stringMatching(/error +2:1 +pols/) })
  const explained = await ctl('config', 'check', file, '--former', file)
  expect(explained).toMatchObject({ code: 1, err: expect.stringContaining('without --url') })
})

test('a wrong key or address is explained', async () => {
  const typo = adminKey.slice(0, -1) + (adminKey.endsWith('x') ? 'y' : 'x')
  const wrong = await runCtl(['--url', url, '--admin-key', typo, 'projects', 'list'], {})
  expect(wrong).toMatchObject({ code: 1, err: expect.not.stringContaining('    at ') })
  const nowhere = await runCtl(['--url', 'http://127.0.0.1:1', '--admin-key', adminKey, 'projects', 'list'], {})
  expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('127.0.0.1:1') })
})
