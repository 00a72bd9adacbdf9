import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redactBody, secretsOf } from './redact.ts'

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,10}$/)
const host = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'))
const secret = fc.string({ minLength: 8, maxLength: 40 })

test('the text for a client holds no secret of a backend, for all settings and all that it wrote', () => {
  fc.assert(
    fc.property(
      fc.record({
        apiKey: secret,
        headers: fc.dictionary(label, secret, { maxKeys: 3 }),
        host,
        held: fc.array(secret, { maxLength: 3 }),
      }),
      fc.array(fc.oneof(fc.nat(5), fc.string()), { maxLength: 8 }),
      fc.constantFrom('message', 'error', 'key', 'number'),
      fc.constantFrom<(text: string) => string>(
        (text) => text,
        (text) => text.toUpperCase(),
        encodeURIComponent,
      ),
      (settings, pieces, place, written) => {
        const url = `http://${settings.host}:8000/v1`
        const { held } = settings
        const own = [
          settings.apiKey,
          ...held,
          ...Object.values(settings.headers),
          settings.host,
          `${settings.host}:8000`,
          url,
        ]
        fc.pre(own.every((text) => text.isWellFormed()))
        const text = pieces
          .map((piece) => (typeof piece === 'string' ? piece : written(own[piece % own.length]!)))
          .join('')
        const body = {
          message: { error: { message: text } },
          error: { error: text },
          key: { [text]: [text] },
          number: [text],
        }
        const reported =
          redactBody(JSON.stringify(body[place]), secretsOf({ ...settings, url }, held), Buffer.from(text)) ?? ''
        for (const inside of own) expect(reported).not.toContain(inside)
      },
    ),
    { numRuns: 2_000 },
  )
})

test('words without a secret reach the client as they are', () => {
  const body = '{"error":{"message":"top_p must be at most 1","param":"top_p","code":null},"id":7}'
  const secrets = secretsOf({ url: 'https://llm.tulip.example/v1', apiKey: 'sk-0123456789', headers: {} })
  expect(redactBody(body, secrets, Buffer.from('{}'))).toBe(body)
})
