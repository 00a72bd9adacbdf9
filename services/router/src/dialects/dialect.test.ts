import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clientDialects, targetDialects } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { addText, KEPT_CHARACTERS, noText, scaleToInteger } from './dialect.ts'
import { dialectRoute } from './dialects.ts'

test('a usual response is kept whole, and counted as it is', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.nat(), (pieces, tokens) => {
      const text = noText()
      for (const piece of pieces) addText(text, piece)
      expect(text).toEqual({ kept: pieces.join(''), length: pieces.join('').length })
      expect(scaleToInteger(text, tokens)).toBe(tokens)
    }),
  )
})

test('of an endless one only the beginning is kept, and the rest is counted by its length', () => {
  const text = noText()
  for (let piece = 0; piece < 1_000; piece++) addText(text, 'word '.repeat(1_000))
  expect(text.kept.length).toBe(KEPT_CHARACTERS)
  expect(text.length).toBe(5_000_000)
  expect(scaleToInteger(text, KEPT_CHARACTERS / 5)).toBe(1_000_000)
})

const ways = clientDialects.flatMap((client) =>
  targetDialects.map((target) => ({ client, target, dialect: dialectRoute(client, [target]).dialect })),
)

test.each(ways)('no $client client orders a tier with another price at a $target backend', ({ client, dialect }) => {
  const body = Buffer.from(
    JSON.stringify({ ...CLIENTS[client].body('Hello', 9), service_tier: 'priority', speed: 'fast' }),
  )
  const clientRequest = { kind: 'chat' as const, body, model: 'm', stream: false, maxTokens: undefined, form: [] }
  const written = dialect.request(clientRequest)
  const sent = JSON.parse(written.body.toString()) as object
  expect([Object.hasOwn(sent, 'service_tier'), Object.hasOwn(sent, 'speed')]).toEqual([false, false])
  expect(written.dropped).toEqual(expect.arrayContaining(['service_tier', 'speed']))
})
