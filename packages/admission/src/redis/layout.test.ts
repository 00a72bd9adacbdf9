/**
 * Two versions of the gateway on one Redis, of which the newer one writes another layout. The newer one is played by the
 * present scripts with a higher number.
 */

import { startRedis, type Server } from '@gateway/servers/start'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { KEY, knownAccount, MINUTE_MS, type Stage } from '../conformance/stage.ts'
import { openRedisAdmission } from '../redis.ts'
import { AdmissionUnavailableError } from '../port.ts'
import { accountKeys, scripts, type ScriptName } from './scripts.ts'

let server: Server
let redis: Redis
let stage: Stage
beforeAll(async () => {
  server = await startRedis()
  redis = new Redis(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server[Symbol.asyncDispose]()
})
beforeEach(async () => {
  stage = await knownAccount((options) => openRedisAdmission({ url: server.url, ...options }))
})
afterEach(() => stage[Symbol.asyncDispose]())

/** Runs a script as a process of the next layout does. */
async function runNewer(script: ScriptName, ...args: (string | number)[]): Promise<unknown> {
  const source = scripts[script].source.replace('local LAYOUT = 1', 'local LAYOUT = 3')
  expect(source).not.toBe(scripts[script].source)
  const { epoch } = await stage.admission.currentWindow(stage.account)
  return redis.eval(source, 4, ...accountKeys(stage.account), epoch!, stage.clock.nowMs, ...args)
}

const fillNewer = () => runNewer('fill', 2, 'free', 0, 0, '', 0, '', KEY, 2, 1, '')
const warmNewer = () => runNewer('settle', '2026-11', 0, 1, 1, '')
/** All that Redis holds of the account, byte by byte. */
const held = () => Promise.all(accountKeys(stage.account).map((key) => redis.dumpBuffer(key)))

type Admission = Stage['admission']
const calls: [name: string, call: (admission: Admission, account: string, requestId: string) => Promise<unknown>][] = [
  ['admit', () => stage.admit()],
  ['finish', (store, account, requestId) => store.finish({ account, requestId, charge: 5, tokens: 5 })],
  ['renew', (store, account, requestId) => store.renew([{ account, requestId, worstCharge: 7 }], MINUTE_MS)],
  ['authenticate', (store, account) => store.authenticate({ account, keyHash: KEY })],
  ['fill', () => stage.fill({ version: 9 })],
  ['deactivate', (store, account) => store.deactivate({ account, keyHash: KEY, version: 9 })],
  ['applyTotal', (_, __, requestId) => stage.settle(50, 9, [requestId])],
  ['warm', () => stage.warm(50, 9)],
  ['inspect', (store, account) => store.inspect(account)],
  ['recount', (store, account) => store.recount(account)],
]

describe.each(calls)('%s', (_, call) => {
  test('of this version says that the state is of a newer one, and changes nothing of it', async () => {
    await stage.admit({ requestId: 'running' })
    await fillNewer()
    await warmNewer()
    const before = await held()
    // Later, so that a lease has lapsed and would be released.
    stage.clock.advance(MINUTE_MS)
    const calling = call(stage.admission, stage.account, 'running')
    await expect(calling).rejects.toBeInstanceOf(AdmissionUnavailableError)
    await expect(calling).rejects.toThrow('newer version; update this process')
    expect(await held()).toEqual(before)
  })

  test('of this version goes on where the newer one has written nothing', async () => {
    await stage.admit({ requestId: 'running' })
    await expect(call(stage.admission, stage.account, 'running')).resolves.not.toBeInstanceOf(Error)
  })
})

test('a newer version takes the state of this one for another incarnation: it requests it again, and a running request stays held', async () => {
  await stage.admit({ requestId: 'running', worstCharge: 70 })
  expect(await runNewer('authenticate', KEY)).toEqual(['miss'])
  await fillNewer()
  await warmNewer()
  expect(await runNewer('authenticate', KEY)).toEqual(['active', 'free', 0, 0, 0])
  const [, , keys, , sums] = (await runNewer('inspect')) as [string, unknown, unknown, unknown, string[]]
  expect({ keys, sums }).toEqual({ keys: [KEY, '2', 1], sums: ['70', '0'] })
})

test('a key that died under this version stays dead under a newer one', async () => {
  await stage.admission.deactivate({ account: stage.account, keyHash: KEY, version: 3 })
  await fillNewer()
  expect(await runNewer('authenticate', KEY)).toEqual(['deny'])
})
