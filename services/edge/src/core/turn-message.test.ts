import { parseExactly } from '@gateway/contracts/json'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { composeBody, continued, type Items, readMessage, type TurnMessage } from './turn-message.ts'

function read(message: unknown): TurnMessage {
  const found = readMessage(Buffer.from(JSON.stringify(message)))
  if (found.kind !== 'create') throw new Error(`read as ${found.kind}`)
  return found
}

function composed(message: object, before: Items = []) {
  const { body, items } = composeBody(read({ type: 'response.create', ...message }), before)
  return { body: parseExactly(body.toString()) as Record<string, unknown>, items: listIn(items) }
}

function listIn(items: Items): unknown[] {
  return parseExactly(`[${items.map(String).join(',')}]`) as unknown[]
}

const USER = { type: 'message', role: 'user', content: 'Hi' }
const SAID = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'OK' }] }

const item = fc.record({
  type: fc.constant('message'),
  role: fc.constant('user'),
  content: fc.string({ unit: 'binary' }),
})
const rest = fc.dictionary(
  fc
    .string()
    .filter(
      (name) =>
        !['type', 'stream_id', 'generate', 'stream', 'input', 'previous_response_id', '__proto__'].includes(name),
    ),
  // JSON knows no negative zero.
  fc.jsonValue().map((value) => parseExactly(JSON.stringify(value))),
)

describe('a message becomes the body of a request', () => {
  test('whose other members are those of the message, and whose input is the conversation with the new items', () => {
    fc.assert(
      fc.property(rest, fc.array(item), fc.array(item, { minLength: 1 }), (members, before, input) => {
        const kept = before.map((each) => Buffer.from(JSON.stringify(each)))
        const { body, items } = composed({ ...members, input, previous_response_id: 'resp_1' }, kept)
        expect(body).toEqual({ ...members, stream: true, input: [...before, ...input] })
        expect(items).toEqual([...before, ...input])
      }),
    )
  })

  test.each<[string, object, unknown]>([
    ['a text is a message of the user', { input: 'Hi' }, [SAID, USER]],
    ['no input continues with nothing new', {}, [SAID]],
    ['null is no input', { input: null }, [SAID]],
    ['an empty list is no input', { input: [] }, [SAID]],
    ['another value is left to the reader of the request', { input: 7 }, 7],
  ])('%s', (_, message, input) => {
    expect(composed(message, [Buffer.from(JSON.stringify(SAID))]).body['input']).toEqual(input)
  })

  test('without a conversation, its input stays as it is written', () => {
    expect(composed({ input: 'Hi' })).toEqual({ body: { stream: true, input: 'Hi' }, items: [USER] })
    expect(composed({ input: [] }).body).toEqual({ stream: true, input: [] })
    expect(composed({}).body).toEqual({ stream: true })
    expect(composed({ input: [], generate: false }).body).toEqual({ stream: true, input: '' })
  })

  test('numbers keep their text', () => {
    const text = '{"type":"response.create","seed":12345678901234567890,"input":[{"n":1.0}]}'
    const message = readMessage(Buffer.from(text)) as TurnMessage
    const { body } = composeBody(message, [Buffer.from('{"n":2.50}')])
    expect(body.toString()).toBe('{"stream":true,"seed":12345678901234567890,"input":[{"n":2.50},{"n":1.0}]}')
  })

  test('an id that is no text is left to the reader of the request', () => {
    expect(composed({ previous_response_id: 7 }).body).toEqual({ stream: true, previous_response_id: 7 })
    expect(read({ type: 'response.create', previous_response_id: null }).previousId).toBeNull()
  })
})

describe('other messages', () => {
  test.each([
    ['a report of Codex', '{"type":"response.processed","response_id":"resp_1"}', { kind: 'ignored' }],
    ['no object', '[]', { kind: 'unread' }],
    ['no JSON', '{"type":', { kind: 'unread' }],
    ['no type', '{"input":"Hi"}', { kind: 'fault', error: { details: { refusal: { param: 'type' } } } }],
    ['another type', '{"type":"response.steer"}', { kind: 'fault' }],
    [
      'a stream without a name',
      '{"type":"response.create","stream_id":""}',
      { kind: 'fault', error: { details: { refusal: { code: 'invalid_stream_id' } } } },
    ],
    ['a stream with a long name', `{"type":"response.create","stream_id":"${'a'.repeat(257)}"}`, { kind: 'fault' }],
  ])('%s', (_, text, expected) => {
    expect(readMessage(Buffer.from(text))).toMatchObject(expected)
  })
})

describe('a response continues its conversation', () => {
  const event = (output: object[]) =>
    Buffer.from(
      JSON.stringify({ type: 'response.completed', response: { id: 'resp_1', output, tools: [{ id: 'x' }] } }),
    )
  const before = [Buffer.from(JSON.stringify(USER))]

  test('with its output behind the input', () => {
    const ended = continued(event([SAID, USER]), before)!
    expect(ended.id).toBe('resp_1')
    expect(listIn(ended.items)).toEqual([USER, SAID, USER])
  })

  test('with the input alone where it has no output', () => {
    expect(listIn(continued(event([]), before)!.items)).toEqual([USER])
  })

  test('from its last compaction on', () => {
    const [first, second] = ['a', 'b'].map((sealed) => ({ type: 'compaction', encrypted_content: sealed }))
    expect(listIn(continued(event([first!, SAID, second!, USER]), before)!.items)).toEqual([second, USER])
  })

  test.each(['{}', '{"response":null}', '{"response":{"id":1,"output":[]}}', '{"response":{"id":"a"}}', 'no'])(
    'not where the event has none: %s',
    (text) => {
      expect(continued(Buffer.from(text), before)).toBeNull()
    },
  )
})
