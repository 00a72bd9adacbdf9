import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatAdminKey, maskAdminKey, parseAdminKey } from './admin-key.ts'
import {
  ACCOUNT_TAG_LENGTH,
  formatKey,
  KEY_ID_LENGTH,
  KEY_SECRET_LENGTH,
  MASKED_KEY,
  parseKey,
  randomBase62,
} from './api-key.ts'

const part = (length: number) => randomBase62(length, randomBytes)

test('an admin key has its id, and a mask that shows no more', () => {
  const keyId = part(KEY_ID_LENGTH)
  const key = formatAdminKey({ keyId, secret: part(KEY_SECRET_LENGTH) })
  expect(parseAdminKey(key)).toEqual({ keyId })
  expect(maskAdminKey(keyId)).toBe(`svc_admin_${keyId}…`)
})

test('no key for inference is an admin key, and no admin key is one for inference', () => {
  for (let run = 0; run < 200; run++) {
    const [keyId, secret] = [part(KEY_ID_LENGTH), part(KEY_SECRET_LENGTH)]
    const admin = formatAdminKey({ keyId, secret })
    expect(parseKey(admin)).toBeNull()
    expect(MASKED_KEY.test(maskAdminKey(keyId))).toBe(false)
    expect(parseAdminKey(formatKey({ keyId, accountTag: part(ACCOUNT_TAG_LENGTH), secret }))).toBeNull()
  }
})

test('an altered character, a missing one and one too many are refused without a look-up', () => {
  const key = formatAdminKey({ keyId: part(KEY_ID_LENGTH), secret: part(KEY_SECRET_LENGTH) })
  fc.assert(
    fc.property(fc.nat(key.length - 1), fc.constantFrom('0', 'A', 'z', '_', '-', ' '), (at, character) => {
      fc.pre(key[at] !== character)
      expect(parseAdminKey(key.slice(0, at) + character + key.slice(at + 1))).toBeNull()
    }),
  )
  expect(parseAdminKey(key.slice(0, -1))).toBeNull()
  expect(parseAdminKey(`${key}0`)).toBeNull()
})
