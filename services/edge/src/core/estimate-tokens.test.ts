import { ExactNumber } from '@gateway/contracts/json'
import fc from 'fast-check'
import { encode } from 'gpt-tokenizer'
import { decode } from 'gpt-tokenizer/encoding/cl100k_base'
import { describe, expect, test } from 'vitest'
import { chatRequest, embeddingsRequest, imagesRequest } from '@gateway/contracts/chat'
import { estimateChat, estimateEmbeddings, estimateImages, IN_PROMPT } from './estimate-tokens.ts'
import { writeBody } from './write-body.ts'

/** The last one of cl100k_base. */
const LAST_TOKEN = 100_255
const AROUND_INPUT = 8
/** The tokens of a template around a short request. */
const AROUND_REQUEST = 1_520

/** OpenAI charges the tokens of a prediction that the response does not have, as output. */
const PREDICTION = { type: 'content', content: 'x'.repeat(10_000) }
const PREDICTED_BYTES = JSON.stringify(PREDICTION).length

const chat = (body: object) => chatRequest.parse({ messages: [{ role: 'user', content: 'Hello!' }], ...body })

describe('a reservation', () => {
  test('is never below the count of a byte-level tokenizer, in any script', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (content) => {
        const estimate = estimateChat(chat({ messages: [{ role: 'user', content }] }), 100)
        expect(estimate.maxPromptTokens).toBeGreaterThanOrEqual(encode(content).length)
      }),
    )
  })

  const hi = { role: 'user', content: 'Hi' }
  const tools = [{ type: 'function', function: { name: 'f', parameters: {} } }]
  const call = { id: 'abcdefgh0', type: 'function', function: { name: 'f', arguments: '{}' } }
  const called = [
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'abcdefgh0', content: '1' },
  ]
  test.each<[string, object, number, string]>([
    ['a short question', { messages: [hi] }, 1_178, 'Devstral Small 2507'],
    ['a tool', { messages: [hi], tools }, 1_202, 'Devstral Small 2507'],
    ['many turns', { messages: Array.from({ length: 21 }, () => hi) }, 1_228, 'Devstral Small 2507'],
    ['five calls', { messages: [hi, ...Array.from({ length: 5 }, () => called).flat()], tools }, 1_518, 'Command R7B'],
  ])('covers %s in the longest of the chat templates in llama.cpp', (_what, body, tokens) => {
    expect(estimateChat(chat(body), 1).maxPromptTokens).toBeGreaterThan(tokens)
  })

  test.each([
    ['the cap that the request names', { max_tokens: 50 }, 8_192, 50],
    ['the newer name of the cap', { max_completion_tokens: 60, max_tokens: 50 }, 8_192, 60],
    ['the larger of two caps, for backends know one of them', { max_completion_tokens: 1, max_tokens: 50 }, 8_192, 50],
    ['the cap by its name at llama.cpp', { max_tokens: 1, n_predict: 9_000 }, 8_192, 9_000],
    ['as much as any cap where the request lifts it there', { max_tokens: 1, n_predict: -1 }, 8_192, 10_000_000],
    ['the same where it names more', { max_tokens: 1, n_predict: new ExactNumber('1e20') }, 8_192, 10_000_000],
    ['whole tokens', { n_predict: 9_000.5 }, 8_192, 9_001],
    ["the lane's cap where the request has a smaller one by that name", { n_predict: 5 }, 8_192, 8_192],
    ['the cap where that name holds no number', { max_tokens: 50, n_predict: 'many' }, 8_192, 50],
    ["the lane's cap where the request has none", {}, 8_192, 8_192],
    ['a general cap where nobody has one', {}, undefined, 16_384],
    ['every one of the choices asked for', { max_tokens: 50, n: 3 }, 8_192, 150],
    ['every one of the choices by their name at llama.cpp', { max_tokens: 50, n_cmpl: 3 }, 8_192, 150],
    ['the most choices where that name has more', { max_tokens: 1, n_cmpl: 1e9 }, 8_192, 128],
    ['a prediction beside the cap', { max_tokens: 50, prediction: PREDICTION }, 8_192, 50 + PREDICTED_BYTES],
    ['a prediction for each of the choices', { n: 2, prediction: PREDICTION }, 100, 2 * (100 + PREDICTED_BYTES)],
    ['no prediction where it is null', { max_tokens: 50, prediction: null }, 8_192, 50],
  ])('holds %s', (_what, body, laneCap, expected) => {
    expect(estimateChat(chat(body), laneCap).maxOutputTokens).toBe(expected)
  })

  test('in the bucket is the usual response for each requested choice, and never more than their cap', () => {
    const responseOf = (body: object) => {
      const { usualTokens, usualPromptTokens } = estimateChat(chat(body), 8_192)
      return usualTokens - usualPromptTokens
    }
    expect(responseOf({})).toBe(500)
    expect(responseOf({ n: 4 })).toBe(2_000)
    expect(responseOf({ n: 4, max_tokens: 20 })).toBe(80)
  })

  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(1_000_000)}` } }
  const withImages = (count: number) => {
    const content = [{ type: 'text', text: 'What?' }, ...Array.from({ length: count }, () => image)]
    return chat({ messages: [{ role: 'user', content }] })
  }
  test('of an image is the most that a vendor counts for one, however many bytes its encoding has', () => {
    // gpt-4o-mini's: 2,833, and 5,667 for each tile; at full detail an image has eight at the most.
    const most = 2_833 + 8 * 5_667
    const { maxPromptTokens, usualPromptTokens } = estimateChat(withImages(1), 1)
    expect(maxPromptTokens).toBeGreaterThan(most)
    expect(maxPromptTokens).toBeLessThan(most + AROUND_REQUEST + 100)
    expect(usualPromptTokens).toBeLessThan(3_100)
  })

  test('of many images is the context window', () => {
    expect(estimateChat(withImages(20), 1, 131_072).maxPromptTokens).toBe(131_072)
  })

  const PDF = `data:application/pdf;base64,${'A'.repeat(1_000_000)}`
  test.each<[string, object]>([
    ['a video by address', { type: 'video_url', video_url: { url: 'https://a.test/film.mp4' } }],
    ['a document by address', { type: 'input_file', file_url: 'https://a.test/book.pdf' }],
    ['a document of Messages', { type: 'document', source: { type: 'url', url: 'https://a.test/book.pdf' } }],
    ['a file that was uploaded before', { type: 'file', file: { file_id: 'file-1' } }],
    ['a document, packed', { type: 'file', file: { file_data: PDF } }],
    ['sounds', { type: 'input_audio', input_audio: { data: 'A'.repeat(1_000_000), format: 'wav' } }],
  ])('of %s is the whole context window, and usually some pages', (_what, part) => {
    const content = [{ type: 'text', text: 'What?' }, part]
    const { maxPromptTokens, usualPromptTokens } = estimateChat(
      chat({ messages: [{ role: 'user', content }] }),
      1,
      32_768,
    )
    expect(maxPromptTokens).toBe(32_768)
    expect(usualPromptTokens).toBeGreaterThanOrEqual(3_000)
    expect(usualPromptTokens).toBeLessThan(20_000)
  })

  test('of a short sound is its bytes', () => {
    const sound = { type: 'input_audio', input_audio: { data: 'A'.repeat(5_000), format: 'wav' } }
    const { maxPromptTokens } = estimateChat(chat({ messages: [{ role: 'user', content: [sound] }] }), 1, 32_768)
    expect(maxPromptTokens).toBeGreaterThan(5_000)
    expect(maxPromptTokens).toBeLessThan(AROUND_REQUEST + 5_200)
  })

  test('covers the texts beside a document, and a document that is a text by its bytes', () => {
    const text = { type: 'text', text: 'x'.repeat(50_000) }
    const video = { type: 'video_url', video_url: { url: 'https://a.test/film.mp4' } }
    const document = { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x'.repeat(50_000) } }
    const of = (...content: object[]) => estimateChat(chat({ messages: [{ role: 'user', content }] }), 1, 32_768)
    expect(of(text, video).maxPromptTokens).toBeGreaterThan(50_000)
    expect(of(document).maxPromptTokens).toBeGreaterThan(50_000)
    expect(of(document).usualPromptTokens).toBeGreaterThan(12_500)
    expect(of({ ...document, source: { ...document.source, data: 'short' } }).maxPromptTokens).toBeLessThan(
      AROUND_REQUEST + 200,
    )
  })

  test('counts tool definitions as part of the prompt', () => {
    const long = [{ type: 'function', function: { name: 'look_up', description: 'x'.repeat(1_000) } }]
    expect(estimateChat(chat({ tools: long }), 1).maxPromptTokens).toBeGreaterThan(AROUND_REQUEST + 1_000)
  })

  test.each(['chat_template', 'mm_processor_kwargs'])('of %s is the whole context window', (field) => {
    expect(estimateChat(chat({ [field]: '{{ x }}' }), 1, 32_768).maxPromptTokens).toBe(32_768)
  })

  test.each(['input_ids', 'documents', 'json_schema', 'chat_template_kwargs', 'functions', 'response_format'])(
    'counts %s, which templates write into the prompt',
    (field) => {
      const value = { text: 'x'.repeat(1_000) }
      expect(estimateChat(chat({ [field]: value }), 1).maxPromptTokens).toBeGreaterThan(AROUND_REQUEST + 1_000)
    },
  )

  test('of embeddings covers every input', () => {
    const one = estimateEmbeddings(embeddingsRequest.parse({ model: 'svc-embed', input: 'four' }))
    const two = estimateEmbeddings(embeddingsRequest.parse({ model: 'svc-embed', input: ['four', 'more'] }))
    expect(two.maxPromptTokens).toBe(2 * one.maxPromptTokens)
    expect(two.maxOutputTokens).toBe(0)
  })

  /** The most that a text of these tokens reserves. */
  const reservedFor = (tokens: number[]) =>
    estimateEmbeddings(embeddingsRequest.parse({ model: 'svc-embed', input: tokens })).maxPromptTokens

  test('of tokens covers the text of each token that exists', () => {
    const short = Array.from({ length: LAST_TOKEN + 1 }, (_, token) => token).filter(
      (token) => Buffer.byteLength(decode([token])) > reservedFor([token]) - AROUND_INPUT,
    )
    expect(short).toEqual([])
    expect(reservedFor([9_906])).toBeLessThan(30)
  })

  test('of tokens covers the text of several, also where they cut characters', () => {
    const anyToken = fc.oneof(fc.nat({ max: LAST_TOKEN }), fc.nat({ max: 255 }), fc.constantFrom(...encode('🙂字é')))
    fc.assert(
      fc.property(fc.array(anyToken, { minLength: 1, maxLength: 50 }), (tokens) => {
        expect(reservedFor(tokens)).toBeGreaterThanOrEqual(Buffer.byteLength(decode(tokens)) + AROUND_INPUT)
      }),
    )
  })

  test('of images grows with the picture', () => {
    const of = (size: string) => estimateImages(imagesRequest.parse({ prompt: 'a cat', size })).maxOutputTokens
    expect(of('2048x1024')).toBe(2 * of('1024x1024'))
  })
})

test('members that are written already are measured there, and count as much', () => {
  const odd = fc.oneof(fc.constantFrom<unknown>(undefined, null, '', 'null', {}, [], 10), fc.jsonValue())
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...IN_PROMPT, 'seed'), odd), (members) => {
      const request = { ...chat({}), ...members }
      const { memberBytes } = writeBody(request, IN_PROMPT)
      expect(estimateChat(request, 100, 9_000, memberBytes)).toEqual(estimateChat(request, 100, 9_000))
    }),
  )
})
