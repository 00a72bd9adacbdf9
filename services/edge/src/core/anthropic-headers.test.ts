import fc from 'fast-check'
import { formatKey } from '@gateway/contracts/api-key'
import { describe, expect, test } from 'vitest'
import { anthropicHeadersOf, MOST_HEADER_BYTES, MOST_HEADERS } from './anthropic-headers.ts'

const KEY = formatKey({ keyId: 'AbCdEfGh', accountTag: 'Tag12345', secret: 's'.repeat(32) })
const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln'

describe('the anthropic headers of a client', () => {
  test('are an open list: the version and the flags by their names, all others as they came', () => {
    const others = { 'anthropic-workspace-id': 'wrkspc_1', 'anthropic-of-next-year': 'yes' }
    const headers = {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'a,b',
      ...others,
      'x-claude-code-agent': '1',
    }
    expect(anthropicHeadersOf(headers)).toEqual({
      anthropicVersion: '2023-06-01',
      anthropicBeta: 'a,b',
      anthropicHeaders: others,
    })
    expect(anthropicHeadersOf({ 'x-anthropic-beta': 'a' })).toEqual({})
  })

  test.each([
    ['a key of this gateway', `Bearer ${KEY}`, {}],
    ['a key with a slip', KEY.slice(0, -1), {}],
    ['the bearer of the request', TOKEN, { authorization: `Bearer ${TOKEN}` }],
    ['the x-api-key of the request', `x ${TOKEN}`, { 'x-api-key': TOKEN }],
  ])('stay here where they hold %s', (_, value, credentials) => {
    expect(anthropicHeadersOf({ ...credentials, 'anthropic-api-key': value, 'anthropic-beta': value })).toEqual({})
  })

  test('are refused by name beyond their bounds, and never shortened', () => {
    const name = fc.stringMatching(/^anthropic-[a-z]{1,12}$/)
    const value = fc.string({ unit: fc.constantFrom('a', '-', ',', 'é'), maxLength: 700 })
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 40 }), (headers) => {
        const bytes = Object.entries(headers).reduce((sum, [of, text]) => sum + of.length + text.length, 0)
        const isWithin = Object.keys(headers).length <= MOST_HEADERS && bytes <= MOST_HEADER_BYTES
        if (!isWithin) {
          expect(() => anthropicHeadersOf(headers)).toThrow(/^anthropic-[a-z]+: /)
          return
        }
        const { anthropicVersion, anthropicBeta, anthropicHeaders } = anthropicHeadersOf(headers)
        const read = { 'anthropic-version': anthropicVersion, 'anthropic-beta': anthropicBeta, ...anthropicHeaders }
        expect(JSON.parse(JSON.stringify(read))).toEqual({ ...headers })
      }),
    )
  })
})
