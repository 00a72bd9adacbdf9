import { beforeEach, describe, expect, test, vi } from 'vitest'
import { limitsWith } from '@gateway/admission/limits-for-tests'
import { AdmissionUnavailableError, type AdmitRequest, type EdgeAdmission } from '@gateway/admission/port'
import { openMemoryAdmission } from '@gateway/admission/memory'
import type { LookUpReply } from '@gateway/contracts/keys-api'
import { createLogger } from '@gateway/telemetry/logger'
import { TOTAL_MAX_AGE_MS } from './ledger-totals.ts'
import { LocalAdmissionFallback } from './local-admission-fallback.ts'
import type { KeysClient, MeteringClient } from '../rpc/service-clients.ts'
import { LEASE_MS, type Reservation } from './running-requests.ts'

const account = 'Tag12345'
const keyHash = 'hash'
const window = new Date().toISOString().slice(0, 7)

const requestOf = (requestId: string, fields: Partial<AdmitRequest> = {}): AdmitRequest => ({
  requestId,
  account,
  keyHash,
  planHint: 'free',
  planIncludesModel: true,
  limits: limitsWith({ requestsPerMinute: 4, tokensPerMinute: 1_000_000, allowance: 1_000 }),
  usualTokens: 1,
  worstCharge: 10,
  leaseMs: 30_000,
  ...fields,
})

describe('while the admission store is away', () => {
  let facts: LookUpReply
  let ledger: number
  let isAway: boolean
  let losesReplies: boolean
  /** The store sees a call when nobody waits for it any more. */
  let isLate: boolean
  let lateCalls: (() => Promise<unknown>)[]
  let running: Reservation[]
  let shared: ReturnType<typeof openMemoryAdmission>
  let admission: EdgeAdmission
  let decidedHere: number
  /** The same over a store that has lost a part. */
  let partly: (isLost: (account: string) => boolean) => EdgeAdmission

  beforeEach(async () => {
    facts = { kind: 'active', plan: 'free', overage: false, extra: 0 }
    ledger = 0
    isAway = true
    losesReplies = false
    running = []
    shared = openMemoryAdmission()
    await shared.fill({
      account,
      version: 1,
      plan: 'free',
      overage: false,
      extra: 0,
      keys: [{ keyHash, version: 1, active: true }],
    })
    await shared.warm({ account, window, settled: 0, version: 0 })
    lateCalls = []
    isLate = false
    const store = new Proxy(shared, {
      get: (target, name: keyof EdgeAdmission) => {
        if (name === 'partOf') return target.partOf
        if (isLate) {
          return (...args: [never, never]) => {
            lateCalls.push(() => target[name](...args))
            return Promise.reject(new AdmissionUnavailableError('no answer'))
          }
        }
        if (isAway) return () => Promise.reject(new AdmissionUnavailableError('away'))
        if (!losesReplies || name !== 'admit') return target[name]
        return async (lost: AdmitRequest) => {
          await target.admit(lost)
          throw new AdmissionUnavailableError('no answer')
        }
      },
    })
    decidedHere = 0
    const over = (port: EdgeAdmission) => new LocalAdmissionFallback({ ...parts, store: port })
    partly = (isLost) => {
      const refuse = () => Promise.reject(new AdmissionUnavailableError('this part is away'))
      return over({
        partOf: (of) => (isLost(of) ? 'lost' : 'found'),
        admit: (request) => (isLost(request.account) ? refuse() : shared.admit(request)),
        finish: (end) => (isLost(end.account) ? refuse() : shared.finish(end)),
        renew: (leases, leaseMs) =>
          leases.some((lease) => isLost(lease.account)) ? refuse() : shared.renew(leases, leaseMs),
        authenticate: (key) => (isLost(key.account) ? refuse() : shared.authenticate(key)),
      })
    }
    const parts = {
      keys: { lookUp: async () => facts } as unknown as KeysClient,
      metering: { quota: async () => ({ used: ledger, window, resetAtMs: 0 }) } as unknown as MeteringClient,
      unitOf: () => 'tokens' as const,
      running: () => running,
      edgesMax: 2,
      logger: createLogger({ service: 'test', level: 'silent' }),
      onAdmitHere: () => void decidedHere++,
      onEnd: () => {},
    }
    admission = over(store)
  })

  const kinds = async (...ids: string[]) => {
    const decisions = []
    for (const id of ids) decisions.push(await admission.admit(requestOf(id)))
    return decisions.map((decision) => (decision.kind === 'deny' ? decision.reason : decision.kind))
  }

  test('each of two edges admits half of the requests per minute', async () => {
    expect(await kinds('a', 'b', 'c')).toEqual(['allow', 'allow', 'requests'])
  })

  test("a request is known by the number of the plan that keys names, and not by one of this edge's", async () => {
    const numberOf = async (id: string) => {
      const decision = await admission.admit(requestOf(id))
      return decision.kind === 'allow' && decision.quotaStatus.planVersion
    }
    facts = { kind: 'active', plan: 'free', planVersion: 41, overage: false, extra: 0 }
    expect(await numberOf('a')).toBe(41)
    // A former version of keys does not name it.
    facts = { kind: 'active', plan: 'free', overage: false, extra: 0 }
    expect(await numberOf('b')).toBe(0)
  })

  test('a key that is revoked is refused by the next request', async () => {
    expect(await kinds('a')).toEqual(['allow'])
    facts = { kind: 'dead' }
    expect(await kinds('b')).toEqual(['key'])
    expect(await admission.authenticate({ account, keyHash })).toEqual({ kind: 'deny' })
  })

  test("the allowance counts the ledger's total and the charges that are pending at this edge", async () => {
    ledger = 990
    expect(await kinds('a')).toEqual(['allow'])
    await admission.finish({ account, requestId: 'a', charge: 10, tokens: 1 })
    expect(await kinds('b')).toEqual(['allowance'])
  })

  test('requests that come together read the total once: it does not include requests that ended just before', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      expect(await kinds('a')).toEqual(['allow'])
      vi.advanceTimersByTime(TOTAL_MAX_AGE_MS)
      await admission.finish({ account, requestId: 'a', charge: 1_000, tokens: 1 })
      const decisions = await Promise.all(['b', 'c', 'd'].map((id) => admission.admit(requestOf(id))))
      const reasons = decisions.map((decision) => decision.kind === 'deny' && decision.reason)
      expect(reasons).toEqual(['allowance', 'allowance', 'allowance'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('requests that the store admitted before it went away count against the allowance', async () => {
    isAway = false
    expect((await admission.admit(requestOf('a', { worstCharge: 1_000 }))).kind).toBe('allow')
    running = [{ account, requestId: 'a', worstCharge: 1_000, window }]
    isAway = true
    expect(await kinds('b')).toEqual(['pending'])
    running = []
    await admission.finish({ account, requestId: 'a', charge: 10, tokens: 1 })
    expect(await kinds('c')).toEqual(['allow'])
  })

  test('two edges that know nothing of each other pass the allowance by one worst case each at most', async () => {
    const decisions = []
    for (const id of ['a', 'b', 'c']) {
      const generous = { ...requestOf(id).limits, requestsPerMinute: 100 }
      decisions.push(await admission.admit(requestOf(id, { worstCharge: 300, limits: generous })))
    }
    expect(decisions.map(({ kind }) => kind)).toEqual(['allow', 'allow', 'deny'])
  })

  test("the store's latest refusal of the account holds, unless its limit is higher now", async () => {
    isAway = false
    expect((await admission.admit(requestOf('a', { worstCharge: 1_000 }))).kind).toBe('allow')
    expect(await kinds('b')).toEqual(['pending'])
    await shared.finish({ account, requestId: 'a', charge: 1_000, tokens: 1 })
    expect(await kinds('c')).toEqual(['allowance'])
    isAway = true
    expect(await kinds('d')).toEqual(['allowance'])
    facts = { kind: 'active', plan: 'free', overage: false, extra: 5_000 }
    expect(await kinds('e')).toEqual(['allow'])
    facts = { kind: 'active', plan: 'free', overage: true, extra: 0 }
    expect(await kinds('f')).toEqual(['allow'])
  })

  test('a limit of requests that was reached in the store stays reached here', async () => {
    isAway = false
    expect(await kinds('a', 'b', 'c', 'd', 'e')).toEqual(['allow', 'allow', 'allow', 'allow', 'requests'])
    isAway = true
    expect(await kinds('f')).toEqual(['requests'])
  })

  test('the edge forgets a request whose end its router reports when its lease would have lapsed', async () => {
    const end = (requestId: string) => admission.finish({ account, requestId, charge: 0, tokens: 0 })
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      expect(await kinds('gone', 'here')).toEqual(['allow', 'allow'])
      vi.advanceTimersByTime(LEASE_MS + 1)
      running = [{ account, requestId: 'here', worstCharge: 10, window }]
      await admission.renew(running, LEASE_MS)
      await expect(end('here')).resolves.toBeUndefined()
      // Only the store may know it now, and that is away.
      await expect(end('gone')).rejects.toThrow('away')
    } finally {
      vi.useRealTimers()
    }
  })

  test('a request that is refused here is given back to a store that may have admitted it', async () => {
    isAway = false
    losesReplies = true
    facts = { kind: 'dead' }
    expect(await kinds('a')).toEqual(['key'])
    expect(await shared.inspect(account)).toMatchObject({ running: 0 })
  })

  describe('a store that hears of a request when the ledger has long had it', () => {
    const end = () => admission.finish({ account, requestId: 'a', charge: 10, tokens: 1 })
    const settle = () => shared.applyTotal({ account, window, settled: 10, version: 1, included: [{ requestId: 'a' }] })
    const hear = async () => {
      for (const late of lateCalls) await late()
    }

    beforeEach(() => void (isAway = false))

    test('keeps no charge pending of its admission and its end', async () => {
      isLate = true
      expect(await kinds('a')).toEqual(['allow'])
      await end()
      await settle()
      await hear()
      expect(await shared.inspect(account)).toMatchObject({ running: 0, ended: 0, requests: [] })
    })

    test('keeps no charge pending of its admission under an old hint of the plan, and its end', async () => {
      isLate = true
      facts = { kind: 'active', plan: 'pro', overage: false, extra: 0 }
      expect(await kinds('a')).toEqual(['plan'])
      // The call that released it is lost for good.
      lateCalls.pop()
      expect((await admission.admit(requestOf('a', { planHint: 'pro' }))).kind).toBe('allow')
      await end()
      await settle()
      await hear()
      expect(await shared.inspect(account)).toMatchObject({ running: 0, ended: 0, requests: [] })
    })

    test('keeps no charge pending of its renewal and its end', async () => {
      expect(await kinds('a')).toEqual(['allow'])
      isLate = true
      await admission.renew([{ account, requestId: 'a', worstCharge: 10, window }], LEASE_MS)
      await expect(end()).rejects.toThrow('no answer')
      await settle()
      await hear()
      expect(await shared.inspect(account)).toMatchObject({ running: 0, ended: 0, requests: [] })
    })

    test('has a charge pending as ever of one that it surely held', async () => {
      expect(await kinds('a', 'b')).toEqual(['allow', 'allow'])
      await admission.renew([{ account, requestId: 'a', worstCharge: 10, window }], LEASE_MS)
      await end()
      expect(await shared.inspect(account)).toMatchObject({ running: 10, ended: 10 })
      isLate = true
      // Says nothing that could make the store hold it.
      await admission.renew([{ account, requestId: 'b' }], LEASE_MS)
      isLate = false
      await admission.finish({ account, requestId: 'b', charge: 5, tokens: 1 })
      expect(await shared.inspect(account)).toMatchObject({ running: 0, ended: 15 })
    })
  })

  test('a part of the store that is away takes only its own accounts along', async () => {
    isAway = false
    const parts = partly((of) => of === account)
    const [lost, found] = [account, 'Elsewher']
    const keys = [{ keyHash, version: 1, active: true }]
    await shared.fill({ account: found, version: 1, plan: 'free', overage: false, extra: 0, keys })
    await shared.warm({ account: found, window, settled: 0, version: 0 })
    expect((await parts.admit(requestOf('found-1', { account: found, worstCharge: 10 }))).kind).toBe('allow')
    running = [{ account: found, requestId: 'found-1', worstCharge: 10, window }]
    expect((await parts.admit(requestOf('lost-1', { account: lost }))).kind).toBe('allow')
    running.push({ account: lost, requestId: 'lost-1', worstCharge: 10, window })
    expect(decidedHere).toBe(1)

    expect((await parts.admit(requestOf('found-2', { account: found }))).kind).toBe('allow')
    expect(decidedHere).toBe(1)
    expect((await shared.inspect(found)).running).toBe(20)
    expect(await parts.authenticate({ account: found, keyHash })).toMatchObject({ used: 0 })
    // Each is renewed where it is held.
    shared = openMemoryAdmission()
    expect(await parts.renew(running, LEASE_MS)).toEqual([])
    expect((await shared.inspect(found)).running).toBe(10)
    expect((await shared.inspect(lost)).running).toBe(0)
    await parts.finish({ account: found, requestId: 'found-1', charge: 10, tokens: 1 })
    expect((await shared.inspect(found)).ended).toBe(10)
  })

  test('an old hint of the plan is corrected, as by the store', async () => {
    facts = { kind: 'active', plan: 'pro', overage: false, extra: 0 }
    expect(await admission.admit(requestOf('a'))).toEqual({ kind: 'plan', plan: 'pro' })
  })

  test('when the store is back, a renewal repeats the running requests', async () => {
    expect(await kinds('a')).toEqual(['allow'])
    isAway = false
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(await admission.renew([{ account, requestId: 'a', worstCharge: 1_000, window }], 30_000)).toEqual([])
    expect(await kinds('b')).toEqual(['pending'])
    await admission.finish({ account, requestId: 'a', charge: 10, tokens: 1 })
    expect(await kinds('c')).toEqual(['allow'])
  })
})
