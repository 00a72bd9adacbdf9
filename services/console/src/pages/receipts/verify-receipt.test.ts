import { RECEIPT_TYPE, type ReceiptClaims } from '@gateway/contracts/receipts'
import fc from 'fast-check'
import { base64url, CompactSign, exportJWK, generateKeyPair } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { findReceipt, verifyReceipt, type PublicKeys } from './verify-receipt.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const BODY = '{"choices":[]}'

let keys: PublicKeys
let sign: (claims: object, typ?: string) => Promise<string>
beforeAll(async () => {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519' })
  keys = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'EdDSA', use: 'sig' }] }
  sign = (claims, typ = RECEIPT_TYPE) =>
    new CompactSign(bytes(JSON.stringify(claims)))
      .setProtectedHeader({ alg: 'EdDSA', kid: 'one', typ })
      .sign(privateKey)
})

async function sha256Of(content: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes(content)))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

async function claimsFor(content: string): Promise<ReceiptClaims> {
  return {
    iss: 'https://gateway.example',
    jti: '019ad000-0000-7000-8000-000000000000',
    iat: 1_795_000_000,
    account: 'proj_abc',
    model: 'svc-core',
    usage: { prompt_tokens: 12, completion_tokens: 34, cached_tokens: 0, estimated: false },
    charge: { amount: '172.5', unit: 'tokens' },
    content: { bytes: bytes(content).length, sha256: await sha256Of(content) },
  }
}

test('a receipt that the gateway signed shows its claims', async () => {
  const claims = await claimsFor(BODY)
  expect(await verifyReceipt(await sign(claims), keys, null)).toEqual({ kind: 'signed', claims, content: null })
})

describe('the content', () => {
  test('is the one of the receipt, or another one', async () => {
    const receipt = await sign(await claimsFor(BODY))
    const check = async (content: string) => await verifyReceipt(receipt, keys, bytes(content))
    expect(await check(BODY)).toMatchObject({ content: { isSame: true, bytes: 14 } })
    expect(await check(`${BODY}\n`)).toMatchObject({ content: { isSame: false, bytes: 15 } })
  })

  test('of a stream is compared as it came, with the event that carries the receipt', async () => {
    const before = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
    const receipt = await sign(await claimsFor(before))
    const stream = `: hello\n\n${before}data: {"usage":{},"svc_receipt":"${receipt}"}\n\ndata: [DONE]\n\n`
    expect(findReceipt(stream)).toBe(receipt)
    expect(await verifyReceipt(receipt, keys, bytes(stream))).toMatchObject({ content: { isSame: true } })
  })
})

test('a changed character anywhere in a receipt is found', async () => {
  const receipt = await sign(await claimsFor(BODY))
  const places = fc.nat({ max: receipt.length - 1 })
  await fc.assert(
    fc.asyncProperty(places, fc.constantFrom('A', 'Q', 'g', 'w', '_', '9'), async (at, other) => {
      const changed = receipt.slice(0, at) + other + receipt.slice(at + 1)
      fc.pre(!isSameBytes(changed, receipt))
      expect(await verifyReceipt(changed, keys, null)).toMatchObject({ kind: 'refused' })
    }),
  )
})

/** The last characters of a part have bits that stand for nothing. */
function isSameBytes(one: string, other: string): boolean {
  const parts = (text: string) => text.split('.').map((part) => base64url.decode(part).join(' '))
  return one.split('.').length === 3 && parts(one).join('.') === parts(other).join('.')
}

test('a changed digit, a foreign key, another kind of token and any other text are refused each in its own words', async () => {
  const claims = await claimsFor(BODY)
  const [header, , signature] = (await sign(claims)).split('.')
  const dearer = { ...claims, charge: { ...claims.charge, amount: '173.5' } }
  const forged = [header, base64url.encode(JSON.stringify(dearer)), signature].join('.')
  const reasonOf = async (pasted: string, published = keys) => {
    const verification = await verifyReceipt(pasted, published, null)
    return verification.kind === 'refused' ? verification.reason : 'none'
  }
  expect(await reasonOf(forged)).toBe('changed')
  expect(await reasonOf(await sign(claims), { keys: [] })).toBe('unknown-key')
  expect(await reasonOf(await sign(claims, 'at+jwt'))).toBe('other-type')
  expect(await reasonOf(await sign({ ...claims, charge: 'nothing' }))).toBe('other-claims')
  expect(await reasonOf('a receipt, please')).toBe('no-receipt')
})

test('people may paste a receipt with the name of its header', async () => {
  const receipt = await sign(await claimsFor(BODY))
  expect(findReceipt(` x-svc-receipt: ${receipt}\r\n`)).toBe(receipt)
})
