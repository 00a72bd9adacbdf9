import { createParser, type EventSourceMessage } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSseParser, EventTooLargeError, type SseEvent } from './parse-events.ts'

function parse(pieces: Buffer[]): SseEvent[] {
  const parser = createSseParser()
  return [...pieces.flatMap((piece) => parser.push(piece)), ...parser.end()]
}

const dataOf = (text: string) => parse([Buffer.from(text)]).map((event) => event.data)

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const line = fc.oneof(
  fc.constantFrom(
    'data: {"a":"é🙂"}',
    'data:x',
    'data',
    'event: ping',
    'id: 7',
    ': comment',
    'garbage',
    'retry: 10',
    '',
  ),
  fc.string({ maxLength: 12 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, ' ')}`),
)
const stream = fc.array(fc.tuple(line, lineEnd), { maxLength: 30 }).map((lines) => Buffer.from(lines.flat().join('')))

describe('splitting a stream into events', () => {
  test('the same bytes give the same events however the network cut them', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat(400), { maxLength: 20 }), (bytes, cuts) => {
        const points = [...new Set([0, ...cuts.filter((cut) => cut < bytes.length), bytes.length])].sort(
          (a, b) => a - b,
        )
        const pieces = points.slice(1).map((point, i) => bytes.subarray(points[i], point))
        expect(parse(pieces)).toEqual(parse([bytes]))
        expect(parse([...bytes].map((byte) => Buffer.from([byte])))).toEqual(parse([bytes]))
      }),
    )
  })

  test('events without garbage lines keep their own bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ minLength: 1 }), lineEnd)), (entries) => {
        const texts = entries.map(([text, end]) => `data: x${text.replaceAll(/[\r\n]/g, ' ')}${end}${end}`)
        const raws = parse([Buffer.from(`${texts.join('')}data: last\n\n`)]).map((event) => event.raw.toString())
        expect(raws).toEqual([...texts, 'data: last\n\n'])
      }),
    )
  })

  test.each([
    ['a value keeps all but one leading space', 'data:  a\n\n', [' a']],
    ['lines of one event are joined', 'data: a\ndata: b\n\n', ['a\nb']],
    ['comments and nameless blocks are dropped', ': ping\n\nevent: x\n\ndata: a\n\n', ['a']],
    ['an unfinished last event still counts', 'data: a\n\ndata: b', ['a', 'b']],
    [
      'a name stands before its data',
      'event: e\ndata: a\n\nevent:\ndata:a\n\nevent: e\r\ndata: b\r\n\r\n',
      ['a', 'a', 'b'],
    ],
    ['a byte order mark is no part of a name', '\uFEFFdata: a\n\n', ['a']],
    ['empty data are a sign of life', 'data:\n\ndata: \n\nevent: ping\ndata: \n\ndata: a\n\n', ['a']],
    ['but not of an error', 'event: error\ndata:\n\n', ['']],
  ])('%s', (_, text, events) => {
    expect(dataOf(text)).toEqual(events)
  })

  test('an event has the same name and data with any ends of lines', () => {
    const field = fc.tuple(fc.constantFrom('event:', 'data:', 'id: ', 'retry:'), fc.constantFrom(' x', 'x', '  x ', ''))
    fc.assert(
      fc.property(fc.array(field, { minLength: 1, maxLength: 4 }), lineEnd, (fields, end) => {
        const text = fields.map(([name, value]) => name + value)
        const read = (by: string) =>
          parse([Buffer.from(text.join(by) + by + by)]).map(({ name, data }) => ({ name, data }))
        expect(read('\n')).toEqual(read(end))
      }),
    )
  })

  test('a garbage line is taken out of its event, which is otherwise kept', () => {
    expect(parse([Buffer.from('garbage\nevent: e\ndata: a\n\n')])).toEqual([
      { raw: Buffer.from('event: e\ndata: a\n\n'), name: 'e', data: 'a' },
    ])
  })

  test.each(['id: 7\n', 'retry: 10\n'])('%j is taken out: nobody can come back to this stream', (line) => {
    const complete = [{ raw: Buffer.from('event: e\ndata: a\n\n'), name: 'e', data: 'a' }]
    expect(parse([Buffer.from(`${line}event: e\ndata: a\n\n`)])).toEqual(complete)
    expect(parse([Buffer.from(`event: e\ndata: a\n${line}\n`)])).toEqual(complete)
  })

  test('an endless event is refused', () => {
    const parser = createSseParser(100)
    expect(() => parser.push(Buffer.alloc(101, 'x'))).toThrow(EventTooLargeError)
  })

  test('names and data are those that eventsource-parser reads', () => {
    const text = fc.string({ minLength: 1, maxLength: 20 }).map((each) => `x${each.replaceAll(/[\r\n\0]/g, ' ')}`)
    const name = fc.option(fc.constantFrom('ping', 'message_delta'), { nil: undefined })
    const event = fc.record({ name, texts: fc.array(text, { minLength: 1, maxLength: 3 }), hasComment: fc.boolean() })
    fc.assert(
      fc.property(fc.array(event), lineEnd, fc.nat({ max: 100 }), (events, end, cut) => {
        const lines = events.flatMap(({ name, texts, hasComment }) => [
          ...(hasComment ? [': comment'] : []),
          ...(name ? [`event: ${name}`] : []),
          ...texts.map((each) => `data: ${each}`),
          '',
        ])
        // The library waits for the byte behind the last CR.
        const bytes = Buffer.from([...lines, ': end', ''].join(end))
        const read = parse([bytes.subarray(0, cut), bytes.subarray(cut)])
        const expected: EventSourceMessage[] = []
        createParser({ onEvent: (each) => expected.push(each) }).feed(bytes.toString())
        expect(read.map(({ name, data }) => ({ name: name ?? undefined, data }))).toEqual(
          expected.map(({ event, data }) => ({ name: event, data })),
        )
      }),
      { numRuns: 1_000 },
    )
  })
})
