import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatKey } from '@gateway/contracts/api-key'
import { readCredential } from './read-credential.ts'

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
    ['a key with a slip', { authorization: `Bearer ${otherKey}x` }, 'ambiguous'],
  ])('beside %s', (_, headers, kind) => {
    expect(readCredential({ ...headers, 'x-api-key': key }).kind).toBe(kind)
  })

  test.each([
    ['a sign-in token', token],
    ['the login of another service', 'sk-ant-oat01-abc'],
    ['an empty text', ''],
  ])('beside %s, the key of this gateway counts, whichever header holds it', (_, leftover) => {
    const found = readCredential({ 'x-api-key': key })
    expect(readCredential({ authorization: `Bearer ${leftover}`, 'x-api-key': key })).toEqual(found)
    expect(readCredential({ authorization: `Bearer ${key}`, 'x-api-key': leftover })).toEqual(found)
  })

  test.each([`Basic ${key}`, 'Bearer', 'Basic dXNlcjpwYXNz'])(
    'counts beside %s, which is no bearer of a key',
    (text) => {
      expect(readCredential({ authorization: text, 'x-api-key': key })).toEqual(readCredential({ 'x-api-key': key }))
    },
  )

  test('a route for signed-in people takes the token of the two', () => {
    const both = { authorization: `Bearer ${token}`, 'x-api-key': key }
    expect(readCredential(both, ['other'])).toEqual({ kind: 'other', value: token })
    expect(readCredential({ authorization: `Bearer ${otherKey}`, 'x-api-key': key }, ['other']).kind).toBe('ambiguous')
  })

  test('two that are no keys have no one reading', () => {
    const both = { authorization: `Bearer ${token}`, 'x-api-key': 'sk-ant-api03-abc' }
    for (const wanted of ['key', 'other'] as const) expect(readCredential(both, [wanted]).kind).toBe('ambiguous')
  })

  test('an empty one is none', () => {
    expect(readCredential({ 'x-api-key': '' }).kind).toBe('none')
    expect(readCredential({ 'x-api-key': '', authorization: `Bearer ${key}` }).kind).toBe('key')
  })
})
