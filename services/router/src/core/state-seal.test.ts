/** A client keeps state for the gateway, and may do anything to it. Only the account that got it gets it opened. */

import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BackendFault } from './backend-fault.ts'
import {
  AccountSeal,
  deriveStateKeys,
  MOST_SEALED_BYTES,
  MOST_SUMMARY_BYTES,
  MOST_TOKEN_CHARACTERS,
  UnknownSealKey,
  type StatePurpose,
} from './state-seal.ts'

const secretOf = (masterKeyId: string) => ({ masterKeyId, secret: randomBytes(32).toString('base64url') })
const [OLD, NEW] = [secretOf('0123456789ab'), secretOf('ba9876543210')]
const keysOf = (...secrets: (typeof OLD)[]) => deriveStateKeys({ secrets })
const sealOf = (account: string, keys = keysOf(OLD)) => new AccountSeal(() => keys, account)

const purpose = fc.constantFrom<StatePurpose>('reasoning', 'compaction')
const account = fc.string({ minLength: 1, maxLength: 12 })

function refusalOf(open: () => unknown): BackendFault {
  try {
    open()
  } catch (fault) {
    if (fault instanceof BackendFault) return fault
    throw fault
  }
  throw new Error('the token was opened')
}

function expectRefusal(open: () => unknown, member: string): void {
  const { status, body, isUnsent } = refusalOf(open)
  expect([status, isUnsent]).toEqual([400, true])
  expect(JSON.parse(body!)).toMatchObject({ error: { param: member, type: 'invalid_request_error' } })
}

test('a sealed state opens again for its account and purpose, on another router, and for nobody else', () => {
  const keys = keysOf(OLD)
  fc.assert(
    fc.property(
      purpose,
      purpose,
      account,
      account,
      fc.string({ unit: 'binary' }),
      (own, other, owner, stranger, text) => {
        const token = sealOf(owner, keys).seal(own, text)!
        expect(token).toMatch(own === 'reasoning' ? /^svc2\.0123456789ab\.[\w-]+$/ : /^svc1\.0123456789ab\.[\w-]+$/)
        expect(sealOf(owner, keysOf(OLD)).open(own, token)).toBe(text)
        if (stranger !== owner) expectRefusal(() => sealOf(stranger, keys).open(own, token, 'here'), 'here')
        if (other !== own) expectRefusal(() => sealOf(owner, keys).open(other, token, 'there'), 'there')
      },
    ),
  )
})

test('a forged state is a 400 that names its member, whichever letter is another one', () => {
  const seal = sealOf('acc')
  const token = seal.seal('reasoning', 'a thought')!
  const from = token.lastIndexOf('.') + 1
  fc.assert(
    fc.property(fc.nat(token.length - from - 2), fc.constantFrom('A', 'z', '_', '!', '.', ' '), (at, letter) => {
      const forged = token.slice(0, from + at) + letter + token.slice(from + at + 1)
      fc.pre(forged !== token)
      expectRefusal(() => seal.open('reasoning', forged, 'input[1].encrypted_content'), 'input[1].encrypted_content')
    }),
  )
  for (const forged of [
    'svc1.',
    'svc1.0123456789ab',
    'svc1.0123456789ab.',
    `${token}.x`,
    `${token}${'A'.repeat(99_999)}`,
  ])
    expectRefusal(() => seal.open('reasoning', forged), 'encrypted_content')
})

test('a state that the first version has sealed still opens', () => {
  const keys = deriveStateKeys({
    secrets: [{ masterKeyId: '0123456789ab', secret: Buffer.alloc(32, 7).toString('base64url') }],
  })
  const token = 'svc1.0123456789ab.heGHrBNJ_Si5dyEUq4_sXUv0blhZog54woWaBv20mb2vp8olWf7yB5Bc58PpD8acvqEW7SigZgV4'
  expect(sealOf('acc', keys).open('reasoning', token)).toBe('thoughts of the first version')
  // Its bytes are not packed.
  expectRefusal(() => sealOf('acc', keys).open('reasoning', `${token.slice(0, -1)}A`), 'encrypted_content')
})

test('a signature is no longer in its token than base64 makes it', () => {
  const signature = randomBytes(900).toString('base64')
  const token = sealOf('acc').seal('reasoning', JSON.stringify({ id: 'call_1', signature }))!
  expect(token.length).toBeLessThan(signature.length + 200)
  expect(sealOf('acc').open('reasoning', token)).toBe(JSON.stringify({ id: 'call_1', signature }))
})

test('a value of a vendor is no state of ours', () => {
  const seal = sealOf('acc')
  for (const own of ['', 'gAAAAABo', 'svc_unsigned', 'EqQBCgIYAg==', 'svc', 'svc1', 'xsvc1.0123456789ab.AAAA'])
    expect(seal.open('reasoning', own)).toBeNull()
})

test('a state that was sealed before the master secret was rotated still opens, and the new secret seals', () => {
  const before = sealOf('acc').seal('compaction', 'summary')!
  const rotated = sealOf('acc', keysOf(NEW, OLD))
  expect(rotated.open('compaction', before)).toBe('summary')
  expect(rotated.seal('compaction', 'summary')).toMatch(/^svc1\.ba9876543210\./)
})

test('an unknown key makes the router fetch the secrets. Then reasoning is lost, and a compaction refused', () => {
  const token = sealOf('acc', keysOf(NEW)).seal('reasoning', 'a thought')!
  const summary = sealOf('acc', keysOf(NEW)).seal('compaction', 'summary')!
  const seal = sealOf('acc')
  expect(() => seal.open('reasoning', token)).toThrow(UnknownSealKey)
  seal.isFinal = true
  expect(seal.open('reasoning', token)).toBe('')
  expectRefusal(() => seal.open('compaction', summary, 'input[0].encrypted_content'), 'input[0].encrypted_content')
})

test('a router without secrets seals nothing, forgets reasoning, and does not guess at a compaction', () => {
  const [token, summary] = [sealOf('acc').seal('reasoning', 'x')!, sealOf('acc').seal('compaction', 'x')!]
  const seal = new AccountSeal(() => null, 'acc')
  expect(seal.seal('reasoning', 'a thought')).toBeNull()
  expect(() => seal.open('reasoning', token)).toThrow(UnknownSealKey)
  seal.isFinal = true
  expect(seal.open('reasoning', token)).toBe('')
  expect(refusalOf(() => seal.open('compaction', summary)).status).toBe(503)
})

test('a state that is too long is not sealed, and the longest one is a line that clients read', () => {
  const seal = sealOf('acc')
  // Four bytes say how long the text is.
  const most = MOST_SEALED_BYTES - 4
  expect(seal.seal('reasoning', 'x'.repeat(most + 1))).toBeNull()
  expect(seal.seal('reasoning', 'ü'.repeat(most / 2 + 1))).toBeNull()
  const longest = seal.seal('reasoning', 'x'.repeat(most))!
  expect(longest.length).toBeLessThanOrEqual(MOST_TOKEN_CHARACTERS)
  expect(seal.open('reasoning', longest)).toHaveLength(most)
})

test('the summary of a long conversation is sealed, up to the longest response of a model', () => {
  const seal = sealOf('acc')
  const longest = 'ü'.repeat(MOST_SUMMARY_BYTES / 2)
  expect(seal.open('compaction', seal.seal('compaction', longest)!)).toBe(longest)
  expect(seal.seal('compaction', `${longest}x`)).toBeNull()
})

test('a state that a later version has sealed is ours: its reasoning is lost here, and its compaction refused', () => {
  const later = 'svc3.0123456789ab.AAAA'
  expect(sealOf('acc').open('reasoning', later)).toBe('')
  expectRefusal(() => sealOf('acc').open('compaction', later), 'encrypted_content')
})
