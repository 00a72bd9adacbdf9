import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatKey } from '@gateway/contracts/api-key'
import { readCredential } from './authenticate.ts'

const key = formatKey({ keyId: 'AbCdEfGh', accountTag: 'Tag12345', secret: 's'.repeat(32) })
const otherKey = formatKey({ keyId: 'AbCdEfGh', accountTag: 'Tag12345', secret: 't'.repeat(32) })
const token = 'eyJhbGciOiJub25lIn0.e30.'

describe('the claim of the Authorization header', () => {
  test.each([
    [undefined, 'none'],
    ['', 'none'],
    ['   ', 'none'],
    [`Bearer ${key}`, 'key'],
    [`bearer   ${key} `, 'key'],
    [`Bearer ${key.slice(0, -1)}`, 'malformed_key'],
    [`Bearer ${key}x`, 'malformed_key'],
    ['Bearer svc_', 'malformed_key'],
    [`Bearer ${token}`, 'other'],
    ['Bearer', 'other'],
    ['Bearer a b', 'other'],
    [`Basic ${key}`, 'other'],
    [key, 'other'],
  ])('%j is %s', (authorization, kind) => {
    expect(readCredential({ authorization }).kind).toBe(kind)
  })

  test('a well-formed key holds its key id and account: reading them needs no call', () => {
    const parsed = { keyId: 'AbCdEfGh', accountTag: 'Tag12345' }
    expect(readCredential({ authorization: `Bearer ${key}` })).toMatchObject({ parsed })
    expect(readCredential({ 'x-api-key': key })).toMatchObject({ parsed })
  })

  test('no bytes in a header are taken for a key or break the reader', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(readCredential({ authorization: `Bearer ${text}` }).kind).not.toBe('key')
        expect(readCredential({ authorization: text }).kind).not.toBe('key')
        expect(readCredential({ 'x-api-key': text }).kind).not.toBe('key')
      }),
    )
  })
})

describe('x-api-key', () => {
  test.each([key, `${key}x`, token])('%s alone has the same meaning as it has as a bearer', (value) => {
    expect(readCredential({ 'x-api-key': value })).toEqual(readCredential({ authorization: `Bearer ${value}` }))
  })

  test.each([
    ['no Authorization', {}, 'key'],
    ['an empty Authorization', { authorization: ' ' }, 'key'],
    ['the same bearer', { authorization: `bearer  ${key}` }, 'key'],
    ['another key', { authorization: `Bearer ${otherKey}` }, 'ambiguous'],
    ['a sign-in token', { authorization: `Bearer ${token}` }, 'ambiguous'],
    ['another scheme', { authorization: `Basic ${key}` }, 'ambiguous'],
    ['no value in the bearer', { authorization: 'Bearer' }, 'ambiguous'],
  ])('beside %s', (_, headers, kind) => {
    expect(readCredential({ ...headers, 'x-api-key': key }).kind).toBe(kind)
  })

  test('an empty one is none', () => {
    expect(readCredential({ 'x-api-key': '' }).kind).toBe('none')
    expect(readCredential({ 'x-api-key': '', authorization: `Bearer ${key}` }).kind).toBe('key')
  })
})
