import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifySignature } from './verify-signature.ts'

const NOW_MS = Date.UTC(2026, 10, 29)
const secret = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const [current, former, foreign] = ['a', 'b', 'c'].map((letter) => Buffer.from(letter.repeat(24)).toString('base64'))

interface Signed {
  id: string
  seconds: string
  body: Buffer
  signatures: string
}

/** As the specification says, with each secret. */
function sign(
  secrets: readonly string[],
  { id, body, atMs = NOW_MS }: { id: string; body: Buffer; atMs?: number },
): Signed {
  const seconds = String(Math.floor(atMs / 1_000))
  const signatures = secrets.map((one) => {
    const key = Buffer.from(one.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key)
      .update(`${id}.${seconds}.${body.toString('latin1')}`, 'latin1')
      .digest('base64')}`
  })
  return { id, seconds, body, signatures: signatures.join(' ') }
}

function outcomeOf(secrets: readonly string[], { id, seconds, body, signatures }: Signed): string {
  const headers = { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': signatures }
  try {
    verifySignature(secrets, headers, body, NOW_MS)
    return 'signed'
  } catch (error) {
    return (error as { code: string }).code
  }
}

const BODY = Buffer.from('{"amount":5}')
const MESSAGE = { id: 'msg_1', body: BODY }

test('any body that one of the secrets has signed is taken, and no changed one', () => {
  const message = fc.record({
    id: fc.stringMatching(/^[\w-]{1,40}$/),
    body: fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  })
  fc.assert(
    fc.property(secret, secret, message, fc.boolean(), fc.nat(), (one, other, of, isPrefixed, at) => {
      fc.pre(one !== other)
      const held = [other, isPrefixed ? `whsec_${one}` : one]
      const signed = sign([one], of)
      expect(outcomeOf(held, signed)).toBe('signed')
      const body = Buffer.from(of.body)
      body[at % body.length]! ^= 1
      expect(outcomeOf(held, { ...signed, body })).toBe('INVALID_TOKEN')
      expect(outcomeOf(held, { ...signed, id: `${of.id}x` })).toBe('INVALID_TOKEN')
      expect(outcomeOf(held, { ...signed, seconds: String(Number(signed.seconds) - 1) })).toBe('INVALID_TOKEN')
    }),
  )
})

test('during a rotation either secret signs, and a sender may sign with both', () => {
  for (const by of [[current!], [former!], [former!, current!], [foreign!, former!]]) {
    expect(outcomeOf([current!, former!], sign(by, MESSAGE))).toBe('signed')
  }
  expect(outcomeOf([current!], sign([former!, foreign!], MESSAGE))).toBe('INVALID_TOKEN')
})

test.each([
  [-299, 'signed'],
  [299, 'signed'],
  [-301, 'INVALID_TOKEN'],
  [301, 'INVALID_TOKEN'],
])('a message of %i seconds from now: %s', (seconds, outcome) => {
  expect(outcomeOf([current!], sign([current!], { ...MESSAGE, atMs: NOW_MS + seconds * 1_000 }))).toBe(outcome)
})

describe('nothing else is a signature', () => {
  const signed = sign([current!], MESSAGE)
  test.each([
    ['none', ''],
    ['one without its version', signed.signatures.slice(3)],
    ['one of another version', signed.signatures.replace('v1', 'v1a')],
    ['a part of one', signed.signatures.slice(0, 20)],
    ['an empty one', 'v1,'],
  ])('%s', (_, signatures) => {
    expect(outcomeOf([current!], { ...signed, signatures })).toBe('INVALID_TOKEN')
  })

  test.each(['', 'now', '1e9', '-1', ' 1'])('the time %j', (seconds) => {
    expect(outcomeOf([current!], { ...signed, seconds })).toBe('INVALID_TOKEN')
  })

  test('missing headers', () => {
    expect(() => verifySignature([current!], {}, BODY, NOW_MS)).toThrow('Invalid token format')
  })
})

test('without a secret the refusal names the variable that an operator sets', () => {
  expect(() => verifySignature([], {}, BODY, NOW_MS)).toThrow('set TOP_UP_SECRETS on its edges')
})
