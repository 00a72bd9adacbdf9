import { randomBytes } from 'node:crypto'
import { calculateJwkThumbprint, compactVerify, createLocalJWKSet } from 'jose'
import { expect, test } from 'vitest'
import { usageEvent } from '../../test/planned-job.ts'
import { cacheReceiptKeys, deriveReceiptKeys, type ReceiptKeys } from './receipt-keys.ts'
import { signReceipt } from './sign-receipt.ts'

const secretOf = (masterKeyId: string) => ({ masterKeyId, secret: randomBytes(32).toString('base64url') })
const FORMER = secretOf('0123456789ab')
const PRESENT = secretOf('ba9876543210')
const CONTENT = { bytes: 0, sha256: '0'.repeat(64) }

test('edges with the same master secret sign alike, and name the key by its thumbprint', async () => {
  const [one, other] = await Promise.all([1, 2].map(() => deriveReceiptKeys({ secrets: [PRESENT] })))
  const event = usageEvent()
  const sign = (keys: ReceiptKeys) => signReceipt({ key: keys.signing, issuer: 'https://gateway' }, event, CONTENT)
  expect(await sign(one!)).toBe(await sign(other!))
  const [jwk] = one!.published
  expect(jwk).toMatchObject({ kty: 'OKP', crv: 'Ed25519', kid: await calculateJwkThumbprint(jwk!) })
  expect(Object.keys(jwk!)).not.toContain('d')
})

test('after a rotation the newest key signs, and receipts by the former one still verify', async () => {
  const before = await deriveReceiptKeys({ secrets: [FORMER] })
  const receipt = await signReceipt({ key: before.signing, issuer: 'https://gateway' }, usageEvent(), CONTENT)
  const after = await deriveReceiptKeys({ secrets: [PRESENT, FORMER] })
  expect(after.signing.id).not.toBe(before.signing.id)
  const { protectedHeader } = await compactVerify(receipt, createLocalJWKSet({ keys: after.published }))
  expect(protectedHeader.kid).toBe(before.signing.id)
})

test('an edge learns of a rotation within a minute, and keeps known keys while the keys service is away', async () => {
  let [nowMs, calls] = [0, 0]
  let reply = async () => ({ secrets: [FORMER] })
  const source = cacheReceiptKeys({ receiptSecrets: () => (calls++, reply()) }, () => nowMs)
  const ids = async () => (await source.current()).published.length
  expect(await Promise.all([ids(), ids(), ids()])).toEqual([1, 1, 1])
  expect(calls).toBe(1)
  reply = async () => ({ secrets: [PRESENT, FORMER] })
  expect(await ids()).toBe(1)
  nowMs = 60_000
  expect(await ids()).toBe(2)
  reply = () => Promise.reject(new Error('keys is away'))
  nowMs = 120_000
  expect(await ids()).toBe(2)
})

test('without any key, an edge says so', async () => {
  const source = cacheReceiptKeys({ receiptSecrets: () => Promise.reject(new Error('keys is away')) })
  await expect(source.current()).rejects.toThrow('keys is away')
})
