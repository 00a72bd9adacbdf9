import { parseExactly } from '@gateway/contracts/json'
import type { VendorName } from '@gateway/contracts/vendors'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  capName,
  fitChat,
  isAccepted,
  learnableRejections,
  withLearned,
  type ParameterSupport,
} from './parameter-support.ts'
import type { Parameter } from './parameter-names.ts'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { plain } from '../vendors/plain.ts'

const profileNamed = (name: string) => (name === '' ? plain : VENDOR_PROFILES[name as VendorName])

const formOf = (...parameters: Parameter[]): ParameterSupport => parameters.map((parameter) => ({ parameter }))
const bytes = (value: object) => Buffer.from(JSON.stringify(value))

function fitted(chat: object, ...refused: Parameter[]) {
  const { body, dropped } = fitChat(bytes(chat), formOf(...refused))
  return { chat: JSON.parse(Buffer.from(body).toString()) as object, dropped }
}

describe('known before the first request', () => {
  test.each([
    ['openai', 'gpt-4o', 'max_completion_tokens'],
    ['openai', 'ft:gpt-4.1:us', 'max_completion_tokens'],
    ['azure', 'gpt-5-mini', 'max_completion_tokens'],
    ['', 'openai/gpt-5.4', 'max_completion_tokens'],
    ['', 'o3', 'max_completion_tokens'],
    ['', 'o4-mini-2025-04-16', 'max_completion_tokens'],
    ['azure', 'gpt-35-turbo', 'max_tokens'],
    ['', 'gpt-4o', 'max_tokens'],
    ['', 'gpt-oss-120b', 'max_tokens'],
    ['', 'olmo-2', 'max_tokens'],
    ['mistral', 'mistral-large', 'max_tokens'],
  ])('%s %s takes %s', (vendor, model, name) => {
    expect(capName(profileNamed(vendor).rejectedParameters(model))).toBe(name)
  })
})

describe('a chat', () => {
  test.each<[string, object, Parameter[], object, string[]]>([
    ['a cap under the older name', { max_tokens: 5 }, ['max_tokens'], { max_completion_tokens: 5 }, []],
    ['a cap under the newer name', { max_completion_tokens: 5 }, ['max_completion_tokens'], { max_tokens: 5 }, []],
    ['two caps', { max_tokens: 5, max_completion_tokens: 7 }, ['max_tokens'], { max_completion_tokens: 7 }, []],
    ['a cap that is null', { max_tokens: null }, ['max_tokens'], {}, []],
    ['a cap where none is taken', { max_tokens: 5 }, ['max_tokens', 'max_completion_tokens'], { max_tokens: 5 }, []],
    ['a temperature', { temperature: 0, seed: 1 }, ['temperature'], { seed: 1 }, ['temperature']],
    ['a null', { temperature: null }, ['temperature'], {}, []],
    ['a bias', { logit_bias: { 1: 5 }, seed: 1 }, ['logit_bias'], { seed: 1 }, ['logit_bias']],
    ['a tool that must be called', { tool_choice: 'required' }, ['tool_choice'], {}, ['tool_choice']],
    ['a free choice of tools', { tools: [], tool_choice: 'auto' }, ['tool_choice'], { tools: [] }, []],
    ['no tool to be called', { tools: [{}], tool_choice: 'none', n: 1 }, ['tool_choice'], { n: 1 }, []],
    ['one choice where no more are known', { n: 1, seed: 1 }, ['n'], { seed: 1 }, []],
    ['no number of choices', { n: null }, ['n'], {}, []],
    ['log probabilities', { logprobs: true, top_logprobs: 1 }, ['logprobs'], {}, ['logprobs', 'top_logprobs']],
    [
      'a role',
      {
        messages: [
          { role: 'developer', content: 'a' },
          { role: 'user', content: 'developer' },
        ],
      },
      ['developer'],
      {
        messages: [
          { role: 'system', content: 'a' },
          { role: 'user', content: 'developer' },
        ],
      },
      [],
    ],
    ['the other role', { messages: [{ role: 'system' }] }, ['system'], { messages: [{ role: 'developer' }] }, []],
    [
      'what belongs to images',
      { response_format: { type: 'json_object' } },
      ['response_format'],
      { response_format: { type: 'json_object' } },
      [],
    ],
  ])('with %s', (_, chat, refused, written, dropped) => {
    expect(fitted(chat, ...refused)).toEqual({ chat: written, dropped })
  })

  test('that wants two choices of a target that knows one is refused by its field', () => {
    expect(() => fitted({ n: 2 }, 'n')).toThrow(/^n must be 1/)
    expect(fitted({ n: 2 }, 'seed').chat).toEqual({ n: 2 })
  })

  const parameter = fc.constantFrom<Parameter>(
    'max_tokens',
    'max_completion_tokens',
    'temperature',
    'top_p',
    'seed',
    'developer',
  )
  const chat = fc.dictionary(fc.oneof(parameter, fc.string()), fc.jsonValue({ maxDepth: 1 }))

  test('keeps its bytes where it holds nothing that is refused, and all its other members always', () => {
    fc.assert(
      fc.property(chat, fc.uniqueArray(parameter), (requested, refused) => {
        const body = bytes(requested)
        const { body: written, dropped } = fitChat(body, formOf(...refused))
        if (!refused.some((name) => name in requested)) expect(written).toBe(body)
        const now = parseExactly(Buffer.from(written).toString()) as Record<string, unknown>
        for (const [name, value] of Object.entries(parseExactly(body.toString()) as object)) {
          if (!refused.includes(name as Parameter) && !name.startsWith('max_')) expect(now[name]).toEqual(value)
        }
        // Every lost member was a null, has another name, or is reported.
        for (const name of Object.keys(requested)) {
          const isThere =
            name in now || (name.startsWith('max_') && ('max_tokens' in now || 'max_completion_tokens' in now))
          if (!isThere && requested[name] !== null) expect([...dropped, ...nullCaps(requested)]).toContain(name)
        }
      }),
    )
  })
})

/** Two caps of which the one that counts is null. */
const nullCaps = (requested: Record<string, unknown>) =>
  requested.max_completion_tokens == null && requested.max_tokens == null ? ['max_tokens', 'max_completion_tokens'] : []

describe('a learned rejection', () => {
  const learnedRejection = (parameter: Parameter, untilMs: number) => ({ parameter, untilMs })

  test('is forgotten when its time is over', () => {
    expect(capName(withLearned([], [learnedRejection('max_tokens', 1_000)], 999))).toBe('max_completion_tokens')
    expect(capName(withLearned([], [learnedRejection('max_tokens', 1_000)], 1_000))).toBe('max_tokens')
  })

  test('outweighs earlier knowledge of its counterpart', () => {
    const known = formOf('max_tokens')
    expect(capName(withLearned(known, [learnedRejection('max_completion_tokens', 1)], 0))).toBe('max_tokens')
    const both = [learnedRejection('max_completion_tokens', 1), learnedRejection('max_tokens', 1)]
    expect(capName(withLearned(known, both, 0))).toBeNull()
  })

  const sent = (chat: object, more: object = {}) => ({
    ...{ kind: 'chat', body: bytes(chat), form: [], stream: false, capped: false },
    ...more,
  })

  test('covers a parameter that the request carried, and its effort where that matters', () => {
    const names = (chat: object, more?: object) => learnableRejections(sent(chat, more))
    expect(names({ tools: [], stop: 'x', n: 2, response_format: {} })).toEqual([])
    expect(names({}, { capped: true, stream: true })).toEqual(formOf('max_tokens', 'stream_options'))
    expect(names({ temperature: 1 })).toEqual([{ parameter: 'temperature', effort: '' }])
    expect(names({ temperature: 1, seed: 1, reasoning_effort: 'high' })).toEqual([
      { parameter: 'temperature', effort: 'high' },
      { parameter: 'seed' },
      { parameter: 'reasoning_effort' },
    ])
    expect(names({ temperature: 1, reasoning_effort: 'as I please' })).toEqual(formOf('reasoning_effort'))
    expect(names({ temperature: 1, reasoning_effort: ['high'] })).toEqual(formOf('reasoning_effort'))
    expect(names({ temperature: 1 }, { kind: 'embeddings' })).toEqual([])
  })

  test('leaves no form where both names of a cap are refused, unless the cap is our own', () => {
    const form = formOf('max_tokens', 'max_completion_tokens')
    expect(isAccepted(sent({ max_tokens: 1 }, { form }))).toBe(false)
    expect(isAccepted(sent({}, { form, capped: true }))).toBe(true)
  })
})
