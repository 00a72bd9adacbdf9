/**
 * Backends number and name the pieces of their tool calls in many ways. A client puts them together by their `index`.
 * It gets each call once, whole, with an `id` of its own.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StreamedToolCalls, completeToolCalls } from './complete-response.ts'

interface Piece {
  index?: number
  id?: string
  type?: string
  function: { name?: string; arguments?: string }
}
interface Call {
  id: string
  type: string
  name: string
  arguments: string
}

const CHOICE = 0
const OWN_ID = /^call_[0-9a-f]{24}$/
const chunkOf = (pieces: Piece[]) => ({ choices: [{ index: CHOICE, delta: { tool_calls: pieces } }] })

/** As OpenAI's clients do it. */
function assembled(chunks: Piece[][]): (Call | undefined)[] {
  const stream = new StreamedToolCalls('chatcmpl-1')
  const calls: Call[] = []
  for (const pieces of chunks) {
    const chunk = chunkOf(pieces)
    const { choices } = (stream.complete(chunk) ?? chunk) as typeof chunk
    for (const { index, id, type, function: called } of choices[0]!.delta.tool_calls) {
      const call = (calls[index!] ??= { id: id!, type: type!, name: called.name!, arguments: '' })
      call.arguments += called.arguments ?? ''
    }
  }
  return Object.values(calls)
}

/** The ways in which servers write the pieces of calls; `number` is the call's, `at` the piece's. */
const WAYS: Record<string, (call: { number: number; name: string }, at: number, text: string) => Piece> = {
  'as OpenAI does': ({ number, name }, at, text) =>
    at === 0
      ? { index: number, id: `call_${number}`, type: 'function', function: { name, arguments: text } }
      : { index: number, function: { arguments: text } },
  'with an empty id and no index': ({ name }, at, text) =>
    at === 0 ? { id: '', type: 'function', function: { name, arguments: text } } : { function: { arguments: text } },
  'with ids and no index': ({ number, name }, _, text) => ({
    id: `call_${number}`,
    type: 'function',
    function: { name, arguments: text },
  }),
  'all at index 0, with ids': ({ number, name }, at, text) => ({
    index: 0,
    ...(at === 0 ? { id: `call_${number}`, type: 'function' } : {}),
    function: { ...(at === 0 ? { name } : {}), arguments: text },
  }),
  'by id, at changing indexes': ({ number, name }, at, text) => ({
    index: (number + at + 1) % 2,
    id: `call_${number}`,
    type: 'function',
    function: { name, arguments: text },
  }),
  'with another id in each piece': ({ number, name }, at, text) => ({
    index: number,
    id: `call_${number}_${at}`,
    type: 'function',
    function: { ...(at === 0 ? { name } : {}), arguments: text },
  }),
  'without type': ({ number, name }, at, text) =>
    at === 0
      ? { index: number, id: `call_${number}`, function: { name, arguments: text } }
      : { index: number, function: { arguments: text } },
}

const calls = fc.array(
  fc.record({
    name: fc.constantFrom('look', 'search'),
    texts: fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 }),
  }),
  { minLength: 1, maxLength: 4 },
)

describe('streamed calls', () => {
  test.for(Object.entries(WAYS))('%s, arrive whole', ([, write]) => {
    fc.assert(
      fc.property(calls, (requested) => {
        const pieces = requested.flatMap(({ name, texts }, number) =>
          texts.map((text, at) => write({ number, name }, at, text)),
        )
        const seen = assembled(pieces.map((piece) => [piece]))
        const reported = (call: Call | undefined) => ({
          name: call?.name,
          arguments: call?.arguments,
          type: call?.type,
        })
        expect(seen.map(reported).toSorted(byText)).toEqual(
          requested.map(({ name, texts }) => ({ name, arguments: texts.join(''), type: 'function' })).toSorted(byText),
        )
        const ids = seen.map((call) => call?.id)
        expect(new Set(ids).size).toBe(requested.length)
        expect(ids.every((id) => typeof id === 'string' && id !== '')).toBe(true)
      }),
    )
  })

  test('are not touched where they are whole', () => {
    const stream = new StreamedToolCalls('chatcmpl-1')
    const write = WAYS['as OpenAI does']!
    for (const at of [0, 1]) expect(stream.complete(chunkOf([write({ number: 0, name: 'look' }, at, '{}')]))).toBeNull()
    expect(stream.complete({ choices: [{ index: 0, delta: { content: 'Hi' } }] })).toBeNull()
  })
})

test('the calls of a whole message get an id each, where they have none', () => {
  const bare = [{ function: { name: 'look' } }, { id: '', type: 'function' }, { id: 'own', type: 'function' }]
  expect(completeToolCalls(bare, 'chatcmpl-1', 0)).toEqual([
    { id: expect.stringMatching(OWN_ID), type: 'function', function: { name: 'look' } },
    { id: expect.stringMatching(OWN_ID), type: 'function' },
    { id: 'own', type: 'function' },
  ])
  expect(completeToolCalls(bare.slice(2), 'chatcmpl-1', 0)).toBeNull()
})

const byText = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

test('arguments are a text, also of a server that writes them as an object', () => {
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: { at: [1, null] } } }
  const full = { ...call, function: { name: 'look', arguments: '{"at":[1,null]}' } }
  expect(completeToolCalls([call], 'chatcmpl-1', 0)).toEqual([full])
  const chunk = (piece: object) => ({ choices: [{ index: 0, delta: { tool_calls: [piece] } }] })
  expect(new StreamedToolCalls('chatcmpl-1').complete(chunk(call))).toEqual(chunk(full))
})
