import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ACCOUNT_TAG_LENGTH,
  formatKey,
  KEY_ID_LENGTH,
  KEY_SECRET_LENGTH,
  maskKey,
  parseKey,
  randomBase62,
} from './api-key.ts'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.split('')
const base62 = (length: number) =>
  fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: length, maxLength: length })
const anyParts = fc.record({
  keyId: base62(KEY_ID_LENGTH),
  accountTag: base62(ACCOUNT_TAG_LENGTH),
  secret: base62(KEY_SECRET_LENGTH),
})

describe('a key', () => {
  test('is svc_ and 54 letters and digits, the last six a CRC-32 of the rest', () => {
    const key = formatKey({ keyId: 'k3yId001', accountTag: 'AccTag01', secret: 'abcdefghijklmnopqrstuvwxyz012345' })
    expect(key).toMatch(/^svc_k3yId001AccTag01abcdefghijklmnopqrstuvwxyz012345[0-9A-Za-z]{6}$/)
    expect(key.slice(-6)).toBe(base62Of(crc32(key.slice(0, -6))))
  })

  test('gives back its key id and account tag', () => {
    fc.assert(
      fc.property(anyParts, (parts) => {
        expect(parseKey(formatKey(parts))).toEqual({ keyId: parts.keyId, accountTag: parts.accountTag })
      }),
    )
  })

  test('with any one character changed is refused without a look-up', () => {
    const change = fc.tuple(anyParts, fc.nat(57), fc.string({ minLength: 1, maxLength: 1, unit: 'binary' }))
    fc.assert(
      fc.property(change, ([parts, index, character]) => {
        const key = formatKey(parts)
        const changed = key.slice(0, index) + character + key.slice(index + 1)
        fc.pre(changed !== key)
        expect(parseKey(changed)).toBeNull()
      }),
      { numRuns: 2_000 },
    )
  })

  test('with any letter or digit of the alphabet in any one place is refused too', () => {
    const key = formatKey({ keyId: 'k3yId001', accountTag: 'AccTag01', secret: 'abcdefghijklmnopqrstuvwxyz012345' })
    const accepted = key
      .split('')
      .flatMap((original, index) =>
        ALPHABET.filter(
          (character) => character !== original && parseKey(key.slice(0, index) + character + key.slice(index + 1)),
        ),
      )
    expect(accepted).toEqual([])
  })

  test('with two neighbours swapped, a character lost or one added is refused', () => {
    fc.assert(
      fc.property(anyParts, fc.nat(56), base62(1), (parts, index, extra) => {
        const key = formatKey(parts)
        const swapped = key.slice(0, index) + key[index + 1]! + key[index]! + key.slice(index + 2)
        expect(swapped === key || parseKey(swapped) === null).toBe(true)
        expect(parseKey(key.slice(0, index) + key.slice(index + 1))).toBeNull()
        expect(parseKey(key.slice(0, index) + extra + key.slice(index))).toBeNull()
      }),
    )
  })

  test.each(['', 'svc_', 'sk-abc', 'Bearer svc_', `svc_${'0'.repeat(54)}`, `svc_${'ä'.repeat(54)}`])(
    '"%s" is none',
    (text) => {
      expect(parseKey(text)).toBeNull()
    },
  )

  test('is none with a line break or a space around it', () => {
    const key = formatKey({ keyId: '0'.repeat(8), accountTag: '0'.repeat(8), secret: '0'.repeat(32) })
    for (const text of [`${key}\n`, ` ${key}`, `${key} `]) expect(parseKey(text)).toBeNull()
  })
})

test('a masked key is its first twelve characters: key id, no account tag, no secret', () => {
  fc.assert(
    fc.property(anyParts, (parts) => {
      expect(maskKey(parts.keyId)).toBe(`${formatKey(parts).slice(0, 12)}…`)
    }),
  )
})

describe('random parts', () => {
  test('have the requested length and use the whole alphabet evenly', () => {
    const text = randomBase62(62_000, (count) => randomBytes(count))
    expect(text).toHaveLength(62_000)
    const counts = ALPHABET.map((character) => text.split(character).length - 1)
    // A thousand each on average; six standard deviations.
    expect(Math.min(...counts)).toBeGreaterThan(810)
    expect(Math.max(...counts)).toBeLessThan(1_190)
  })

  test('take no byte that would favour the first letters', () => {
    const bytes = [255, 248, 247, 0, 61, 62]
    expect(randomBase62(4, () => Uint8Array.from(bytes))).toBe('z0z0')
  })
})

function base62Of(value: number): string {
  let digits = ''
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) digits = ALPHABET[rest % 62]! + digits
  return digits.padStart(6, '0')
}
