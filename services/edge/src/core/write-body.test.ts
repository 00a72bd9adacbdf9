import fc from 'fast-check'
import { ExactNumber } from '@gateway/contracts/json'
import { expect, test } from 'vitest'
import { writeBody } from './write-body.ts'

const REQUESTED = ['tools', 'instructions']

const exact = fc.bigInt().map((digits) => new ExactNumber(`${digits}.0`))
const value = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), exact, fc.constant(undefined))
const name = fc.oneof(fc.constantFrom(...REQUESTED, 'messages', '7', '__proto__'), fc.string({ unit: 'binary' }))

test('a body is the bytes that JSON.stringify writes, and each measured member has the length of its JSON', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (members) => {
      const request = Object.fromEntries(members)
      const { bytes, memberBytes } = writeBody(request, REQUESTED)
      expect(bytes.toString()).toBe(JSON.stringify(request))
      for (const name of REQUESTED) {
        const json = JSON.stringify(request[name])
        expect(memberBytes[name]).toBe(json === undefined ? undefined : Buffer.byteLength(json))
      }
    }),
    { numRuns: 1_000 },
  )
})
