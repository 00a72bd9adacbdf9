import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonText, type JsonBy } from './json-text.ts'

/** The text that a client reads, however it is cut into pieces. */
function read(by: JsonBy, pieces: string[]): { content: string; thoughts: string } {
  const json = new JsonText(by)
  const split = pieces.map((piece) => json.take(piece))
  return {
    content: split.map(({ content }) => content).join('') + json.end(),
    thoughts: split.map(({ thoughts }) => thoughts).join(''),
  }
}

describe('a response in JSON', () => {
  test.each([
    ['alone', '{"a":[1,{"b":"}"}]}', ''],
    ['in a fence', '```json\n{"a":1}\n```', '```json\n'],
    ['in lines', '{\n  "a": 1\n}', ''],
    ['that is a list', 'Both: [{"a":1},{"a":2}]', 'Both: '],
    ['behind words in brackets', 'By [1], {this} and [that](a): {"a":[1]}', 'By [1], {this} and [that](a): '],
    ['between words', 'Here it is:\n{"a":"\\"}"} I hope it helps.', 'Here it is:\nI hope it helps.'],
  ])('%s is the content, and words beside it are thoughts', (_, text, thoughts) => {
    const seen = read('text', [text])
    expect(() => JSON.parse(seen.content) as unknown).not.toThrow()
    expect(seen.thoughts).toBe(thoughts)
  })

  test('that never comes leaves the words as they are', () => {
    expect(read('text', ['I can', 'not.'])).toEqual({ content: 'I cannot.', thoughts: '' })
    expect(read('call', ['I can', 'not {}.'])).toEqual({ content: 'I cannot {}.', thoughts: '' })
  })

  test('is read alike however it is cut, and is the object that the model wrote', () => {
    const words = fc.string({ unit: fc.constantFrom('a', ' ', '`', '\n', '"', '[1]', '{ a }', '[a b]') })
    const object = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value))
    fc.assert(
      fc.property(words, object, words, fc.integer({ min: 1, max: 7 }), (before, written, after, length) => {
        const text = before + written + after
        const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, at) => {
          return text.slice(at * length, (at + 1) * length)
        })
        const seen = read('text', pieces)
        expect(seen.content).toBe(written)
        expect(seen.thoughts.startsWith(before)).toBe(true)
      }),
    )
  })

  test('holds no endless preface', () => {
    const json = new JsonText('text')
    const reported = Array.from({ length: 20 }, () => json.take('a'.repeat(10_000)).thoughts.length)
    expect(reported.reduce((sum, length) => sum + length)).toBeGreaterThan(100_000)
  })
})
