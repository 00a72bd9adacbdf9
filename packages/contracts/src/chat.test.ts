import { describe, expect, test } from 'vitest'
import { chatRequest, embeddingsRequest, imagesRequest } from './chat.ts'

const hi = [{ role: 'user', content: 'Hi' }]

/** Returns the paths of the faults, as an error message names them. */
function faultsOf(
  schema: typeof chatRequest | typeof embeddingsRequest | typeof imagesRequest,
  body: unknown,
): string[] {
  const parsed = schema.safeParse(body)
  return parsed.success ? [] : parsed.error.issues.map((issue) => issue.path.join('.'))
}

describe('a chat request', () => {
  test('that names no model means svc-chat-md', () => {
    expect(chatRequest.parse({ messages: hi }).model).toBe('svc-chat-md')
  })

  test.each<[string, object]>([
    ['text parts', { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }],
    [
      'an image',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==', detail: 'low' } }],
          },
        ],
      },
    ],
    [
      'a kind of part that the gateway does not know',
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
    ],
    [
      'an assistant turn of tool calls alone',
      {
        messages: [
          ...hi,
          { role: 'assistant', content: null, tool_calls: [] },
          { role: 'tool', content: '1', tool_call_id: 'c' },
        ],
      },
    ],
    [
      'explicit nulls for what is left out',
      { messages: hi, max_tokens: null, stream: null, stop: null, tools: null, temperature: null },
    ],
    ['stop as a list', { messages: hi, stop: ['a', 'b'] }],
    ['thinking switched off', { messages: hi, chat_template_kwargs: { enable_thinking: false } }],
    ['parameters that only the backend knows', { messages: hi, seed: 7, logit_bias: { 50: 1 }, min_p: 0.1 }],
  ])('with %s is accepted', (_, body) => {
    expect(faultsOf(chatRequest, body)).toEqual([])
  })

  test('passes on untouched the members that the gateway does not read', () => {
    const body = {
      model: 'svc-core',
      messages: [{ role: 'user', content: 'Hi', name: 'a', x: [1] }],
      seed: 7,
      tools: [{ type: 'function', function: { name: 'f' } }],
    }
    expect(chatRequest.parse(body)).toEqual(body)
  })

  test.each<[string, unknown, string]>([
    ['no messages', {}, 'messages'],
    ['messages that are none', { messages: 'Hi' }, 'messages'],
    ['an empty list', { messages: [] }, 'messages'],
    ['a message without a role', { messages: [{ content: 'Hi' }] }, 'messages.0.role'],
    ['a role that is none', { messages: [...hi, { role: 'robot', content: 'Hi' }] }, 'messages.1.role'],
    ['a user message without content', { messages: [{ role: 'user' }] }, 'messages.0.content'],
    ['a number as content', { messages: [{ role: 'user', content: 1 }] }, 'messages.0.content'],
    [
      'a text part without text',
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'messages.0.content.0.text',
    ],
    [
      'an image part without an image',
      { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] },
      'messages.0.content.0.image_url',
    ],
    ['max_tokens as text', { messages: hi, max_tokens: '5' }, 'max_tokens'],
    ['max_tokens of none', { messages: hi, max_tokens: 0 }, 'max_tokens'],
    ['a fraction of a token', { messages: hi, max_tokens: 1.5 }, 'max_tokens'],
    ['stream as text', { messages: hi, stream: 'true' }, 'stream'],
    ['a temperature too high', { messages: hi, temperature: 2.1 }, 'temperature'],
    ['top_p too high', { messages: hi, top_p: 1.1 }, 'top_p'],
    ['a model that is a number', { messages: hi, model: 5 }, 'model'],
    ['tools that are none', { messages: hi, tools: {} }, 'tools'],
    ['no object at all', [1], ''],
  ])('with %s is refused, and the field is named', (_, body, field) => {
    expect(faultsOf(chatRequest, body)).toEqual([field])
  })
})

describe('an embeddings request', () => {
  test.each<[string, object]>([
    ['a string', { model: 'svc-embed', input: 'Hi' }],
    ['several strings', { model: 'svc-embed-fast', input: ['a', 'b'] }],
    ['what the official SDKs send', { model: 'svc-embed', input: 'Hi', encoding_format: 'base64' }],
    ['the dimensions that it has anyway', { model: 'svc-embed', input: 'Hi', dimensions: 768 }],
    ['the tokens of a text', { model: 'svc-embed', input: [9_906, 100_255] }],
    ['the tokens of several texts', { model: 'svc-embed', input: [[9_906], [1, 2]] }],
    ['300,000 tokens', { model: 'svc-embed', input: [Array<number>(150_000).fill(1), Array<number>(150_000).fill(1)] }],
    ['2,048 texts', { model: 'svc-embed', input: Array<string>(2_048).fill('a') }],
  ])('with %s is accepted', (_, body) => {
    expect(faultsOf(embeddingsRequest, body)).toEqual([])
  })

  test.each<[string, object, string]>([
    ['no input', { model: 'svc-embed' }, 'input'],
    ['an empty string', { model: 'svc-embed', input: '' }, 'input'],
    ['an empty list', { model: 'svc-embed', input: [] }, 'input'],
    ['a token that there is not', { model: 'svc-embed', input: [100_256] }, 'input.0'],
    ['a text beside tokens', { model: 'svc-embed', input: ['a', 1] }, 'input'],
    ['no tokens of a text', { model: 'svc-embed', input: [[]] }, 'input.0'],
    [
      'more tokens in all than one text may have',
      { model: 'svc-embed', input: [Array<number>(300_000).fill(1), [1]] },
      'input',
    ],
    ['2,049 texts', { model: 'svc-embed', input: Array<string>(2_049).fill('a') }, 'input'],
    ['no model', { input: 'Hi' }, 'model'],
    ['no dimensions', { model: 'svc-embed', input: 'Hi', dimensions: 0 }, 'dimensions'],
    ['an unknown encoding', { model: 'svc-embed', input: 'Hi', encoding_format: 'hex' }, 'encoding_format'],
  ])('with %s is refused, and the field is named', (_, body, field) => {
    expect(faultsOf(embeddingsRequest, body)).toEqual([field])
  })
})

describe('an image request', () => {
  test('means svc-image at 1024x1024 when it says neither', () => {
    expect(imagesRequest.parse({ prompt: 'A fox' })).toEqual({ model: 'svc-image', prompt: 'A fox', size: '1024x1024' })
  })

  test.each<[string, object, string]>([
    ['no prompt', {}, 'prompt'],
    ['an empty prompt', { prompt: '' }, 'prompt'],
    ['a size in words', { prompt: 'A fox', size: 'large' }, 'size'],
    ['a size without a height', { prompt: 'A fox', size: '1024' }, 'size'],
    ['a size of nothing', { prompt: 'A fox', size: '0x0' }, 'size'],
    ['no image', { prompt: 'A fox', n: 0 }, 'n'],
    ['too many images', { prompt: 'A fox', n: 11 }, 'n'],
    ['an address as its answer', { prompt: 'A fox', response_format: 'url' }, 'response_format'],
    ['a JPEG as its answer', { prompt: 'A fox', output_format: 'jpeg' }, 'output_format'],
    ['a WebP as its answer', { prompt: 'A fox', output_format: 'webp' }, 'output_format'],
    ['a moving picture as its answer', { prompt: 'A fox', output_format: 'gif' }, 'output_format'],
    ['a stream as its answer', { prompt: 'A fox', stream: true }, 'stream'],
    ['partial images', { prompt: 'A fox', partial_images: 2 }, 'partial_images'],
  ])('with %s is refused, and the field is named', (_, body, field) => {
    expect(faultsOf(imagesRequest, body)).toEqual([field])
  })

  test('may name the form that it gets anyway', () => {
    const options = { response_format: 'b64_json', output_format: 'png', stream: false, partial_images: 0, n: 10 }
    expect(faultsOf(imagesRequest, { prompt: 'A fox', ...options })).toEqual([])
    const nothing = { response_format: null, output_format: null, stream: null, partial_images: null }
    expect(faultsOf(imagesRequest, { prompt: 'A fox', ...nothing })).toEqual([])
  })
})
