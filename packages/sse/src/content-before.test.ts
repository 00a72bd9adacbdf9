import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentBefore } from './content-before.ts'
import { splitEvents } from './split-events.ts'
import { isSignOfLife } from './signs-of-life.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const contentOf = (text: string) => new TextDecoder().decode(contentBefore(bytes(text), 'svc_receipt'))

test('a body is its own content', () => {
  const body = '{\n\n  "choices": [],\r\n\r\n "text": "data: \\"svc_receipt\\""\n}'
  expect(contentOf(body)).toBe(body)
})

test('the content of a stream is its events before the one with the receipt, without comments and pings', () => {
  const before = [
    'data: {"a":1}\n\n',
    'event: message\r\ndata: {"b":2}\r\n\r\n',
    'data: {"svc_receipt":"a backend’s"}\n\n',
  ]
  const signs = [': still here\n\n', 'event: ping\ndata: {}\n\n']
  const stream = [...before, ...signs, 'data: {"usage":{},"svc_receipt":"eyJ"}\n\n', 'data: [DONE]\n\n']
  expect(contentOf(stream.join(''))).toBe(before.join(''))
})

test('the content of a WebSocket, whose messages are kept a line each, is the lines before the one with the receipt', () => {
  const before = [
    '{"type":"response.created","sequence_number":0}\n',
    '{"stream_id":"a","type":"response.output_text.delta"}\n',
  ]
  const carrier = '{"stream_id":"a","type":"response.completed","response":{},"svc_receipt":"eyJ"}'
  for (const end of ['', '\n', '\n{"type":"response.created"}\n']) {
    expect(contentOf(`${before.join('')}${carrier}${end}`)).toBe(before.join(''))
  }
  const body = '{"object":"response","svc_receipt":"a backend’s"}'
  expect(contentOf(body)).toBe(body)
})

test('byte by byte, a stream splits as it does where the edge signs', () => {
  const event = fc.constantFrom(
    ': x',
    'event: ping\ndata: {}',
    'data: {"a":"\n',
    'data: [1]',
    'event: b\r\ndata: 1',
    '',
    'ä',
  )
  const end = fc.constantFrom('\n\n', '\r\n\r\n', '\r\r', '\n')
  fc.assert(
    fc.property(fc.array(fc.tuple(event, end)), (parts) => {
      const before = parts.map((part) => part.join('')).join('')
      const carrier = 'data: {"svc_receipt":"r"}\n\n'
      const complete = Buffer.from(before === '' ? carrier : `${before}\n\n${carrier}`)
      const events = splitEvents(complete)
      const at = events.findLastIndex((one) => one.includes('"svc_receipt":"'))
      const expected = Buffer.concat(events.slice(0, at).filter((one) => !isSignOfLife(one)))
      expect(Buffer.from(contentBefore(new Uint8Array(complete), 'svc_receipt'))).toEqual(expected)
    }),
  )
})
