import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatKey } from '@gateway/contracts/api-key'
import { readBearer } from './read-bearer.ts'

const key = formatKey({ keyId: 'AbCdEfGh', accountTag: 'Tag12345', secret: 's'.repeat(32) })

describe('what the Authorization header claims', () => {
  test.each([
    [undefined, 'none'],
    ['', 'none'],
    ['   ', 'none'],
    [`Bearer ${key}`, 'key'],
    [`bearer   ${key} `, 'key'],
    [`Bearer ${key.slice(0, -1)}`, 'malformed_key'],
    [`Bearer ${key}x`, 'malformed_key'],
    ['Bearer svc_', 'malformed_key'],
    ['Bearer eyJhbGciOiJub25lIn0.e30.', 'other'],
    ['Bearer', 'other'],
    ['Bearer a b', 'other'],
    [`Basic ${key}`, 'other'],
    [key, 'other'],
  ])('%j is %s', (header, kind) => {
    expect(readBearer(header).kind).toBe(kind)
  })

  test('a well-formed key tells its key id and account without asking anyone', () => {
    expect(readBearer(`Bearer ${key}`)).toMatchObject({ parsed: { keyId: 'AbCdEfGh', accountTag: 'Tag12345' } })
  })

  test('no bytes in the header are taken for a key or break the reader', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(readBearer(`Bearer ${text}`).kind).not.toBe('key')
        expect(readBearer(text).kind).not.toBe('key')
      }),
    )
  })
})
