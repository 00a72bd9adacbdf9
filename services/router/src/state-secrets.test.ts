import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Bus } from '@gateway/bus/port'
import { procedures } from '@gateway/contracts/bus-roles'
import type { Logger } from '@gateway/telemetry/logger'
import { encodeJson } from '@gateway/rpc/json'
import { UnknownSealKey } from './core/state-seal.ts'
import { openStateSecrets } from './state-secrets.ts'

const secretOf = (masterKeyId: string) => ({ masterKeyId, secret: randomBytes(32).toString('base64url') })
const [OLD, NEW] = [secretOf('0123456789ab'), secretOf('ba9876543210')]

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** For events that come soon, on a machine that may be busy. */
const SOON = { timeout: 60_000 }

/** A router whose keys service has these secrets; null: it is away. */
function opened(secrets: (typeof OLD)[] | null) {
  const keys = { secrets, calls: 0, warnings: 0 }
  const bus = {
    async request(subject: string) {
      expect(subject).toBe(procedures.keysStateSecrets.subject)
      keys.calls++
      if (keys.secrets === null) throw new Error('keys is away')
      return encodeJson({ secrets: keys.secrets })
    },
  } as unknown as Bus
  const logger = { warn: () => void keys.warnings++ } as unknown as Logger
  return { keys, source: openStateSecrets(bus, logger) }
}

test('the router calls keys once for all requests at the same time, and not at all once it has the secrets', async () => {
  const { keys, source } = opened([OLD])
  await Promise.all([source.prepare(), source.prepare(), source.prepare()])
  expect(source.prepare()).toBeUndefined()
  expect(keys.calls).toBe(1)
  const token = source.sealFor('acc').seal('reasoning', 'x')!
  expect(source.sealFor('acc').open('reasoning', token)).toBe('x')
})

test('while keys is away, no request fails or waits again, and the router tries again from time to time', async () => {
  const { keys, source } = opened(null)
  await source.prepare()
  expect(source.sealFor('acc').seal('reasoning', 'x')).toBeNull()
  expect(source.prepare()).toBeUndefined()
  expect([keys.calls, keys.warnings]).toEqual([1, 1])
  keys.secrets = [OLD]
  vi.advanceTimersByTime(5_001)
  expect(source.prepare()).toBeUndefined()
  await vi.waitFor(() => expect(source.sealFor('acc').seal('reasoning', 'x')).not.toBeNull())
  expect([keys.calls, keys.warnings]).toEqual([2, 1])
})

test('the router fetches ahead until keys replies, and reports nothing', async () => {
  const { keys, source } = opened([OLD])
  using _ahead = source.fetchAhead()
  await vi.waitFor(() => expect(source.sealFor('acc').seal('reasoning', 'x')).not.toBeNull())
  expect(source.prepare()).toBeUndefined()
  expect([keys.calls, keys.warnings]).toEqual([1, 0])
})

test('a job under way uses the secrets that came meanwhile', async () => {
  const { source } = opened([OLD])
  const seal = source.sealFor('acc')
  expect(seal.seal('reasoning', 'x')).toBeNull()
  await source.prepare()
  expect(seal.seal('reasoning', 'x')).not.toBeNull()
})

test('a state under an unknown key makes the router fetch the secrets, at most once a second', async () => {
  const { keys, source } = opened([OLD])
  await source.prepare()
  keys.secrets = [NEW, OLD]
  const token = await sealedUnder(NEW)
  const seal = source.sealFor('acc')
  expect(() => seal.open('reasoning', token)).toThrow(UnknownSealKey)
  await source.refresh()
  expect(keys.calls).toBe(1)
  vi.advanceTimersByTime(1_001)
  await Promise.all([source.refresh(), source.refresh()])
  expect(keys.calls).toBe(2)
  expect(seal.open('reasoning', token)).toBe('x')
})

test('a rotation reaches a router that meets no token of the new secret: it soon seals under that, and forgets the old one with keys', async () => {
  const { keys, source } = opened([OLD])
  const everyMs = 20
  using _ahead = source.fetchAhead(everyMs)
  const seal = source.sealFor('acc')
  const sealedWith = () => seal.seal('compaction', 'x')?.split('.')[1]
  await vi.waitFor(() => expect(sealedWith()).toBe(OLD.masterKeyId), SOON)
  const token = seal.seal('compaction', 'x')!
  keys.secrets = [NEW, OLD]
  await vi.waitFor(() => expect(sealedWith()).toBe(NEW.masterKeyId), SOON)
  expect(seal.open('compaction', token)).toBe('x')
  keys.secrets = null
  const { calls } = keys
  await vi.waitFor(() => expect(keys.calls).toBeGreaterThan(calls + 1), SOON)
  expect(sealedWith()).toBe(NEW.masterKeyId)
  keys.secrets = [NEW]
  await vi.waitFor(() => expect(() => seal.open('compaction', token)).toThrow(UnknownSealKey), SOON)
  expect(keys.warnings).toBe(0)
})

async function sealedUnder(secret: typeof OLD): Promise<string> {
  const { source } = opened([secret])
  await source.prepare()
  return source.sealFor('acc').seal('reasoning', 'x')!
}
