import { startRedis, type Server } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Admission, AdmissionUnavailableError } from '../port.ts'
import { openRedisAdmission } from '../redis.ts'
import { limitsWith } from '../conformance/limits.ts'

/** The end of the connection, which comes later, would end a call, too. */
const BY_ITS_OWN_TIME = { cause: { message: expect.stringMatching(/^Redis did not answer within/) as unknown } }
/** Ten times the promised one, of a store that still waits while the others have given up, however slow the machine. */
const LONG_TIMEOUT_MS = 2_500
const KEY = { account: 'account', keyHash: 'key' }

let server: Server
beforeAll(async () => {
  server = await startRedis({ own: true })
})
afterAll(() => server[Symbol.asyncDispose]())

/** Every call of the port that goes to Redis. */
function allCalls(admission: Admission): Promise<unknown>[] {
  const limits = limitsWith()
  const request = { ...KEY, requestId: 'r', planHint: null, planIncludesModel: true, limits }
  const total = { account: 'account', window: '2026-11', settled: 0, version: 0 }
  return [
    admission.admit({ ...request, usualTokens: 1, worstCharge: 1, leaseMs: 1 }),
    admission.finish({ account: 'account', requestId: 'r', charge: 1, tokens: 1 }),
    admission.renew([{ account: 'account', requestId: 'r' }], 1000),
    admission.authenticate(KEY),
    admission.fill({ account: 'account', version: 1, plan: 'free', overage: false, extra: 0, keys: [] }),
    admission.deactivate({ ...KEY, version: 1 }),
    admission.applyTotal({ ...total, included: [] }),
    admission.warm(total),
    admission.currentWindow(),
    admission.currentWindow('account'),
    admission.inspect('account'),
    admission.recount('account'),
  ]
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

test.each([
  ['away', 'SIGKILL', () => server.restart()],
  ['silent', 'SIGSTOP', () => server.kill('SIGCONT')],
] as const)('while Redis is %s, every call fails within 250 ms as the port promises', async (how, signal, mend) => {
  await using admission = await openRedisAdmission({ url: server.url })
  await using longTimeout = await openRedisAdmission({ url: server.url, timeoutMs: LONG_TIMEOUT_MS })
  await server.kill(signal)
  try {
    let isLongTimeoutOver = false
    const waiting = errorOf(longTimeout.authenticate(KEY)).finally(() => (isLongTimeoutOver = true))
    for (const error of await Promise.all(allCalls(admission).map(errorOf))) {
      expect(error).toBeInstanceOf(AdmissionUnavailableError)
      expect(error).toMatchObject({ message: expect.stringContaining('the admission store') as unknown })
      if (how === 'silent') expect(error).toMatchObject(BY_ITS_OWN_TIME)
    }
    if (how === 'silent') expect(isLongTimeoutOver).toBe(false)
    expect(await waiting).toBeInstanceOf(AdmissionUnavailableError)
  } finally {
    await mend()
  }
  await expect.poll(() => errorOf(admission.authenticate(KEY))).toBeUndefined()
})
