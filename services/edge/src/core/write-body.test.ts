import fc from 'fast-check'
import { ExactNumber } from '@gateway/contracts/json'
import { expect, test } from 'vitest'
import { inPromptOrder, writeBody } from './write-body.ts'

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

test('a target gets the same members in one order, the conversation last, for any order in the request', () => {
  const isLast = (name: string) => name === 'messages' || name === 'input'
  const members = fc.uniqueArray(fc.tuple(name, value), { selector: ([of]) => of })
  fc.assert(
    fc.property(
      members.chain((given) => fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length }))),
      ([given, shuffled]) => {
        const ordered = [given, shuffled].map((each) => {
          const written = writeBody(Object.fromEntries(each), [])
          return Buffer.from(inPromptOrder(written.bytes, written.members)).toString()
        })
        expect(ordered[0]).toBe(ordered[1])
        const read = JSON.parse(ordered[0]!) as object
        expect(read).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(given))))
        const names = Object.keys(read).filter((of) => !/^\d+$/.test(of))
        expect(names.findIndex(isLast)).toBe(names.some(isLast) ? names.length - names.filter(isLast).length : -1)
      },
    ),
  )
})
