import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deriveMasterKeys, receiptSecretsOf, responseSecretsOf, stateSecretsOf } from './master-keys.ts'
import { open, seal } from '@gateway/sealing/sealing'

const FIRST = 'b5f0a3c9e7d14286a1f0c3e5d7b92846'
const SECOND = '0c9e8d7f6a5b4c3d2e1f0a9b8c7d6e5f'

test('a sealed value opens again, at its own place only', () => {
  const masterKeys = deriveMasterKeys(FIRST)
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), (plaintext, place, elsewhere) => {
      const sealed = seal(masterKeys, plaintext, place)
      expect(open(masterKeys, sealed, place).toString()).toBe(Buffer.from(plaintext).toString())
      fc.pre(elsewhere !== place)
      expect(() => open(masterKeys, sealed, elsewhere)).toThrow()
    }),
  )
})

test('a single altered bit keeps it shut', () => {
  const masterKeys = deriveMasterKeys(FIRST)
  const { masterKeyId, sealed } = seal(masterKeys, 'secret', 'here')
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const altered = Buffer.from(sealed)
    altered[bit >> 3]! ^= 1 << (bit & 7)
    expect(() => open(masterKeys, { masterKeyId, sealed: altered }, 'here')).toThrow()
  }
})

test('a truncated authentication tag is no way in', () => {
  const masterKeys = deriveMasterKeys(FIRST)
  const { masterKeyId, sealed } = seal(masterKeys, '', 'here')
  expect(() => open(masterKeys, { masterKeyId, sealed: sealed.subarray(0, 16) }, 'here')).toThrow()
})

test('the same value sealed twice looks different', () => {
  const masterKeys = deriveMasterKeys(FIRST)
  expect(seal(masterKeys, 'secret', 'here').sealed).not.toEqual(seal(masterKeys, 'secret', 'here').sealed)
})

test('after a rotation the former secret still opens and the new one seals', () => {
  const before = seal(deriveMasterKeys(FIRST), 'secret', 'here')
  const rotated = deriveMasterKeys(`${SECOND}, ${FIRST}`)
  expect(open(rotated, before, 'here').toString()).toBe('secret')
  const after = seal(rotated, 'secret', 'here')
  expect(open(deriveMasterKeys(SECOND), after, 'here').toString()).toBe('secret')
  expect(() => open(deriveMasterKeys(FIRST), after, 'here')).toThrow(/does not hold/)
})

test('an empty master secret seals nothing', () => {
  expect(() => deriveMasterKeys('')).toThrow(/empty/)
  expect(() => deriveMasterKeys(' , ')).toThrow(/empty/)
})

test('edges and routers get secrets of their own, the newest first, and the same ones from every process of keys', () => {
  const rotated = deriveMasterKeys(`${SECOND}, ${FIRST}`)
  const [ofEdges, ofRouters] = [responseSecretsOf(rotated).secrets, stateSecretsOf(rotated).secrets]
  expect(ofRouters.map(({ masterKeyId }) => masterKeyId)).toEqual(ofEdges.map(({ masterKeyId }) => masterKeyId))
  expect(ofRouters.slice(1)).toEqual(stateSecretsOf(deriveMasterKeys(FIRST)).secrets)
  const ofReceipts = receiptSecretsOf(rotated).secrets
  expect(ofReceipts.slice(1)).toEqual(receiptSecretsOf(deriveMasterKeys(FIRST)).secrets)
  const all = [...ofEdges, ...ofRouters, ...ofReceipts].map(({ secret }) => secret)
  expect(new Set(all).size).toBe(6)
  expect(all).not.toContain(Buffer.from(rotated.current.sealingKey).toString('base64url'))
})
