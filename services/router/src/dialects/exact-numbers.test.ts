/**
 * Numbers that only pass through keep the text in which they came. Examples are ids of 64 bits among a tool's
 * arguments, and the bounds of an int64 in a schema. Prices may have more digits than a double holds, and some readers
 * distinguish `1.0` from `1`.
 */

import fc from 'fast-check'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { createSseParser } from '@gateway/sse/parse-events'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { TARGETS } from '../../test/target-fixtures.ts'
import { namesIn, stripParameters, type ParameterPolicy } from '../core/strip-parameters.ts'
import { writeToolCalls } from '../core/tool-calls.ts'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import type { Dialect, ClientRequest } from './dialect.ts'
import { dialectRoute } from './dialects.ts'

const NUMBERS = [
  ...['12345678901234567.89', '1234567890123456789012345678901234567890', '1e400', '-1E-400', '9007199254740993'],
  ...['1.0', '-0', '-0.0', '0.10', '1e5', '1E+2', '0.0000001', '123456789012345678901234', '0.1', '7', '-3'],
]
const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`))
const ofDigits = fc
  .tuple(fc.constantFrom('', '-'), fc.constantFrom('0', '1', '90'), digits(30), digits(30), fc.nat({ max: 4 }))
  .map(([sign, first, more, fraction, form]) => {
    const full = first === '0' ? '0' : first + more
    return sign + [full, `${full}.${fraction}`, `${full}e${more.slice(0, 3)}`, `${full}.${fraction}E-2`, '1'][form]!
  })
const numberText = fc
  .oneof(fc.constantFrom(...NUMBERS), ofDigits, fc.double({ noNaN: true }).map(String))
  .filter(isJson)

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const name = fc.constantFrom('a', 'b', 'id', 'price', 'x y', 'ü"', '__proto__', 'toString')
const { object: objectText } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    numberText,
    fc.oneof(fc.string(), fc.constant('9007199254740993.10')).map((text) => JSON.stringify(text)),
    fc.constantFrom('true', 'null'),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((values) => `[${values.join(', ')}]`),
  ),
  object: fc
    .uniqueArray(fc.tuple(name, tie('value')), { selector: ([key]) => key, minLength: 1, maxLength: 3 })
    .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(',')}}`),
}))

/** A JSON text whose numbers are texts, so that two of them compare by every digit. */
function asTexts(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? `number ${context!.source}` : value,
  )
}

interface Paths {
  /** The places where the object must stand again: a value, or a text that is its JSON. */
  [place: string]: unknown
}

/** All values of the members of this name, wherever they stand. Texts are read as JSON. */
function valuesOf(written: string, member: string): unknown[] {
  const found: unknown[] = []
  JSON.parse(written, function (this: Paths, key: string, value: unknown, context?: { source?: string }) {
    if (typeof value === 'number') return `number ${context!.source}`
    if (key === member) found.push(value)
    return value
  })
  return found.map((value) => (typeof value === 'string' && value.startsWith('{') ? asTexts(value) : value))
}

const PAIRS = clientDialects.flatMap((client) => targetDialects.map((target) => [client, target] as const))
const dialectOf = (client: ClientDialect, target: TargetDialect): Dialect => dialectRoute(client, [target]).dialect
const IDENTITY = { id: 'own', created: 1, model: 'of-the-target' }
/** The target refuses a parameter and ids of calls, so that each step that may write a request again does. */
const REWRITING: Partial<ClientRequest> = { form: [{ parameter: 'temperature' }], profile: VENDOR_PROFILES.openai }

function clientRequestFor(client: ClientDialect, object: string): ClientRequest {
  const body = Buffer.from(CLIENTS[client].requestWith(object))
  return { kind: 'chat', body, model: 'claude-sonnet-4-6', stream: true, maxTokens: undefined, form: [] }
}

describe.each(PAIRS)('of %s at a backend of %s', (client, target) => {
  test.each([
    ['as it is', {}],
    ['written anew', REWRITING],
  ])('a request %s keeps its arguments and schemas', (_, more) => {
    fc.assert(
      fc.property(objectText, (object) => {
        const clientRequest = { ...clientRequestFor(client, object), ...more }
        const sent = dialectOf(client, target).request(clientRequest).body.toString()
        const bounds = valuesOf(sent, 'x-bounds')
        expect(bounds.length).toBeGreaterThanOrEqual(2)
        const calls = valuesOf(sent, TARGETS[target].argumentsMember)
        const inputs = calls.filter((call) => !Array.isArray(call))
        expect(inputs).toHaveLength(1)
        for (const value of [...bounds, ...inputs]) expect(value).toEqual(asTexts(object))
      }),
    )
  })

  test.each([false, true])('a response keeps the arguments of its call (streamed: %s)', (stream) => {
    fc.assert(
      fc.property(objectText, fc.constantFrom(...Object.keys(TARGETS[target].callForms)), (object, form) => {
        const { plain, events } = TARGETS[target].callForms[form]!(object)
        const dialect = dialectOf(client, target)
        const { echo } = dialect.request(clientRequestFor(client, '{}'))
        const seen = stream
          ? argumentsIn(client, streamed(dialect, echo, events))
          : valuesOf(
              dialect.readBackendResponse('chat', Buffer.from(plain), IDENTITY, echo).bytes.toString(),
              CLIENTS[client].argumentsMember,
            ).at(-1)
        expect(seen).toEqual(asTexts(object))
      }),
    )
  })
})

function streamed(dialect: Dialect, echo: unknown, events: string[]): string {
  const bytes = events.map((event) => `event: ${(JSON.parse(event) as { type?: string }).type}\ndata: ${event}\n\n`)
  const reading = dialect.readStream({ includeUsage: true, choices: 1, identity: IDENTITY, echo })
  const read = createSseParser()
    .push(Buffer.from(bytes.join('').replaceAll('event: undefined\n', '')))
    .map((event) => reading.read(event))
  const usage = { promptTokens: 1, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: true }
  return Buffer.concat([...read, reading.usageChunk(usage)].flatMap((written) => written ?? [])).toString()
}

/** The arguments of the only call, as a client of each dialect collects them. */
function argumentsIn(client: ClientDialect, stream: string): unknown {
  const fixture = CLIENTS[client]
  const events = createSseParser()
    .push(Buffer.from(stream))
    .map(({ data }) => data)
  const pieces = events.flatMap((event) => fixture.argumentPieces(JSON.parse(event)))
  return pieces.length > 0
    ? asTexts(pieces.join(''))
    : events.flatMap((event) => valuesOf(event, fixture.argumentsMember)).at(-1)
}

const POLICY: ParameterPolicy = {
  members: new Map([['', { accepted: namesIn('tools messages') }]]),
  priced: new Map(),
  allowed: new Set(),
}

test.each([
  ['without members that its client may not send', (body: Buffer) => stripParameters(body, POLICY).body],
  ['with ids that its target takes', (body: Buffer) => writeToolCalls(body, 'm', VENDOR_PROFILES.mistral.toolCalls)],
  [
    'with the signatures of its target',
    (body: Buffer) => writeToolCalls(body, 'gemini-3-pro', VENDOR_PROFILES.gemini.toolCalls),
  ],
])('a request %s keeps its arguments and schemas', (_, write) => {
  fc.assert(
    fc.property(objectText, (object) => {
      const sent = write(Buffer.from(CLIENTS.chat.requestWith(object))).toString()
      expect(valuesOf(sent, 'x-bounds')[0]).toEqual(asTexts(object))
      expect(valuesOf(sent, 'arguments')).toEqual([asTexts(object)])
    }),
  )
})
