import { describe, expect, test } from 'vitest'
import { meaningsOf } from '../vendors/meanings.ts'
import { plain } from '../vendors/plain.ts'
import { readRejections } from './refused-parameters.ts'

const { errors: meanings } = meaningsOf(plain)

const CHAT = {
  messages: [{ role: 'user', content: 'x' }],
  max_completion_tokens: 1,
  temperature: 0,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
}

function namesIn(refusal: object, chat: object = CHAT, more: object = {}): string[] {
  const body = Buffer.from(JSON.stringify(chat))
  const sent = { kind: 'chat', body, form: [], stream: true, capped: false, ...more }
  return readRejections(JSON.stringify(refusal), sent, meanings).map(({ parameter }) => parameter)
}

const inner = { error: { message: 'no', param: 'temperature', code: 'unsupported_parameter' } }

describe('a refusal', () => {
  test.each<[string, object, string[]]>([
    ['of another in text', { error: { message: JSON.stringify(inner) } }, ['temperature']],
    [
      'of another as OpenRouter tells it',
      { error: { message: 'failed', metadata: { raw: JSON.stringify(inner) } } },
      ['temperature'],
    ],
    [
      'of another as LiteLLM tells it',
      {
        error: {
          message:
            "litellm.BadRequestError: OpenAIException - Unsupported parameter: 'top_p' is not supported with this model.",
        },
      },
      ['top_p'],
    ],
    [
      'without a code',
      { error: { message: "Unsupported parameter: 'top_p' is not supported", code: 'invalid_request_body' } },
      ['top_p'],
    ],
    [
      'in a list',
      {
        detail: [
          { type: 'extra_forbidden', loc: ['body', 'top_p'] },
          { type: 'value_error.extra', loc: ['body', 'temperature'] },
        ],
      },
      ['temperature', 'top_p'],
    ],
    ['of our stream options', { error: 'stream_options is not supported' }, ['stream_options']],
    ['of a value', { error: { message: "Invalid 'temperature'", param: 'temperature', code: 'invalid_value' } }, []],
    ['as a mere text', { detail: 'Unsupported parameter: top_p' }, ['top_p']],
    ['as serde says it', { error: { message: 'unknown field `top_p`, expected one of `n`' } }, ['top_p']],
    ['on a condition', { error: { message: 'temperature is not supported when top_p is set' } }, []],
    [
      'that tells the whole request',
      { detail: [{ type: 'missing', loc: ['body'], input: { stream_options: {} } }] },
      [],
    ],
    ['of a value in a list', { detail: [{ type: 'less_than_equal', loc: ['body', 'temperature'] }] }, []],
    ['of a member of a member', { detail: [{ type: 'extra_forbidden', loc: ['body', 'x', 'temperature'] }] }, []],
    ['of what was not asked', { error: { message: 'no', param: 'seed', code: 'unsupported_parameter' } }, []],
    ['of what must stay', { error: { message: 'no', param: 'stop', code: 'unsupported_parameter' } }, []],
    ['in the middle of a sentence', { error: { message: "Your text holds: Unsupported parameter: 'top_p'" } }, []],
    ['that is no object', [], []],
  ])('%s', (_, refusal, names) => {
    expect(namesIn(refusal).toSorted()).toEqual(names)
  })

  test('that is none of JSON teaches nothing', () => {
    const sent = { kind: 'chat', body: Buffer.from(JSON.stringify(CHAT)), form: [], stream: false, capped: true }
    expect(readRejections("Unsupported parameter: 'top_p'", sent, meanings)).toEqual([])
  })

  test('that the client itself wrote teaches nothing, however it escaped it', () => {
    const words = "Unsupported parameter: 'top_p' is not supported with this model."
    expect(namesIn({ error: { message: words } }, { ...CHAT, user: words })).toEqual([])
    const escaped = JSON.stringify({ ...CHAT, user: words }).replaceAll('U', '\\u0055')
    expect(namesIn({ error: { message: words } }, CHAT, { body: Buffer.from(escaped) })).toEqual([])
    const ours = 'stream_options is not supported'
    expect(namesIn({ error: { message: ours } }, { ...CHAT, user: ours })).toEqual([])
  })

  test('of the form of images is of ours, though the client may have written it, too', () => {
    const chat = { prompt: 'response_format', response_format: 'b64_json' }
    const error = { message: 'no', param: 'response_format', code: null }
    expect(namesIn({ error }, chat, { kind: 'images' })).toEqual(['response_format'])
    expect(namesIn({ error: { message: 'no response_format please', param: null } }, chat, { kind: 'images' })).toEqual(
      [],
    )
  })
})
