import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import fc from 'fast-check'
import {
  deriveResponseKeys,
  fingerprintOf,
  isFingerprintOf,
  isSameFingerprint,
  nameOf,
  cacheResponseKeys,
} from './response-keys.ts'

const secretOf = (masterKeyId: string) => ({ masterKeyId, secret: randomBytes(32).toString('base64url') })
const OLD = secretOf('0123456789ab')
const NEW = secretOf('ba9876543210')

test('the edge calls keys once for all requests at the same time', async () => {
  let calls = 0
  const source = cacheResponseKeys({
    async responseSecrets() {
      calls++
      return { secrets: [OLD] }
    },
  })
  await Promise.all([source.current(), source.current(), source.current()])
  await source.current()
  expect(calls).toBe(1)
})

test('a failure is not cached, and a failed refresh leaves the known keys', async () => {
  let reply = async () => ({ secrets: [OLD] })
  const source = cacheResponseKeys({ responseSecrets: () => reply() })
  const away = async (): Promise<never> => {
    throw new Error('keys is away')
  }
  reply = away
  await expect(source.current()).rejects.toThrow('away')
  reply = async () => ({ secrets: [OLD] })
  expect((await source.current()).current.id).toBe(OLD.masterKeyId)
  reply = away
  await expect(source.refreshed()).rejects.toThrow('away')
  expect((await source.current()).current.id).toBe(OLD.masterKeyId)
  reply = async () => ({ secrets: [NEW, OLD] })
  await source.refreshed()
  const { current, byId } = await source.current()
  expect([current.id, ...byId.keys()]).toEqual([NEW.masterKeyId, NEW.masterKeyId, OLD.masterKeyId])
})

test('a rotation reaches an edge that meets no record of the new secret, within a minute of its next request', async () => {
  let nowMs = 0
  let secrets: (typeof OLD)[] | null = [OLD]
  let calls = 0
  const keysService = {
    async responseSecrets() {
      calls++
      if (secrets === null) throw new Error('keys is away')
      return { secrets }
    },
  }
  const source = cacheResponseKeys(keysService, () => nowMs)
  const sealingWith = async () => (await source.current()).current.id
  expect(await sealingWith()).toBe(OLD.masterKeyId)
  secrets = null
  nowMs += 60_000
  expect([await sealingWith(), await sealingWith(), await sealingWith()]).toEqual(Array(3).fill(OLD.masterKeyId))
  expect(calls).toBe(2)
  secrets = [NEW, OLD]
  expect(await sealingWith()).toBe(OLD.masterKeyId)
  nowMs += 60_000
  await sealingWith()
  await expect.poll(sealingWith, { timeout: 60_000 }).toBe(NEW.masterKeyId)
  expect(calls).toBe(3)
})

const keys = deriveResponseKeys({ secrets: [NEW, OLD] })

test('a question has the fingerprint of itself and of no other', () => {
  fc.assert(
    fc.property(fc.string(), fc.uint8Array(), fc.string(), fc.uint8Array(), (head, body, otherHead, otherBody) => {
      const fingerprint = fingerprintOf(keys, [head, body])
      expect(isFingerprintOf(keys, fingerprint, [head, body])).toBe(true)
      const joined = (first: string, second: Uint8Array) => Buffer.concat([Buffer.from(first), second])
      fc.pre(!joined(head, body).equals(joined(otherHead, otherBody)))
      expect(isFingerprintOf(keys, fingerprint, [otherHead, otherBody])).toBe(false)
    }),
  )
})

test('one taken before the master secret was rotated is still known, one under a dropped secret is not', () => {
  const before = fingerprintOf(deriveResponseKeys({ secrets: [OLD] }), ['question'])
  expect(isFingerprintOf(keys, before, ['question'])).toBe(true)
  expect(isFingerprintOf(keys, before, ['another'])).toBe(false)
  expect(isFingerprintOf(deriveResponseKeys({ secrets: [NEW] }), before, ['question'])).toBeNull()
})

test('two fingerprints by one key show without the body, which may be large, whether it is the same', () => {
  const under = (secret: ReturnType<typeof secretOf>, question: string) =>
    fingerprintOf(deriveResponseKeys({ secrets: [secret] }), [question])
  expect(isSameFingerprint(under(NEW, 'question'), under(NEW, 'question'))).toBe(true)
  expect(isSameFingerprint(under(NEW, 'question'), under(NEW, 'another'))).toBe(false)
  expect(isSameFingerprint(under(NEW, 'question'), under(OLD, 'question'))).toBeNull()
})

test('nonsense is nobody’s fingerprint', () => {
  for (const nonsense of ['', '.', 'x', `${NEW.masterKeyId}.`, `${NEW.masterKeyId}.AAAA`]) {
    expect(isFingerprintOf(keys, nonsense, ['question'])).not.toBe(true)
  }
})

test('a fingerprint and a name show nothing of the body and the key', () => {
  expect(fingerprintOf(keys, ['a secret question'])).not.toContain('secret')
  expect(nameOf('order-1')).toMatch(/^[\w-]{43}$/)
  expect(nameOf('order-1')).not.toBe(nameOf('order-2'))
})
