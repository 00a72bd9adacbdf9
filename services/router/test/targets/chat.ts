/** The words of a backend that speaks OpenAI's chat completions. */

import { many } from '@gateway/testing/cpu-growth'
import { chunk, completeStream, completion, event, ROLE } from '../http-backend.ts'
import { type CallForm, type Json, OVERLOADED, type Said, type Spoken, type TargetFixture } from '../target-fixture.ts'

function say({ text, thoughts, refusal, logprobs, calls = [], end }: Said): Spoken {
  const base = { id: 'chatcmpl-1', created: 1, model: 'm' }
  const called = calls.map(({ name, input }, at) => {
    return { id: `t${at}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }
  })
  const usage = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 }
  const message = {
    role: 'assistant',
    content: text ?? null,
    ...(thoughts && { reasoning_content: thoughts }),
    ...(refusal && { refusal }),
    ...(called.length > 0 && { tool_calls: called }),
  }
  const reason = end ?? (called.length > 0 ? 'tool_calls' : 'stop')
  const choice = { index: 0, message, ...(logprobs && { logprobs }), finish_reason: reason }
  const piece = (delta: Json, finish: string | null = null) => ({
    ...base,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, ...(logprobs && delta.content ? { logprobs } : {}), finish_reason: finish }],
  })
  const texts = text === undefined ? [] : [text.slice(0, 3), text.slice(3)].filter((part) => part !== '')
  return {
    plain: { ...base, object: 'chat.completion', choices: [choice], usage },
    events: [
      piece({ role: 'assistant', content: '' }),
      ...(thoughts ? [piece({ reasoning_content: thoughts })] : []),
      ...texts.map((content) => piece({ content })),
      ...(refusal ? [piece({ refusal })] : []),
      ...called.map((call, index) => piece({ tool_calls: [{ index, ...call }] })),
      piece({}, reason),
      { ...base, object: 'chat.completion.chunk', choices: [], usage },
    ],
  }
}

function callWith(args: string): CallForm {
  const call = `"id":"t","type":"function","function":{"name":"f","arguments":${args}}`
  const full = `{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{${call}}]},"finish_reason":"tool_calls"}`
  const head = '"id":"c","created":1,"model":"m"'
  return {
    plain: `{${head},"object":"chat.completion","choices":[${full}]}`,
    events: [
      `{${head},"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,${call}}]},"finish_reason":null}]}`,
      `{${head},"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
    ],
  }
}

const RICH_USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 }
const RICH_CALL = { id: 'chatcmpl-1', type: 'function', function: { name: 'look', arguments: '{"at":"home"}' } }
const RICH_MESSAGE = {
  role: 'assistant',
  content: [{ type: 'text', text: 'Hello' }],
  reasoning_content: 'so',
  refusal: 'no',
}
const RICH_DELTA = {
  role: 'assistant',
  content: 'Hello',
  reasoning_content: 'so',
  tool_calls: [{ index: 0, ...RICH_CALL }],
}

const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 }
const chatCall = (at: number, args = '{}') => ({
  index: at,
  id: `c${at}`,
  type: 'function',
  function: { name: `f${at}`, arguments: args },
})
const manyIn = (message: object, choices = 1) => ({
  id: 'c',
  model: 'm',
  choices: many(choices, (index) => ({ index, message: { role: 'assistant', ...message }, finish_reason: 'stop' })),
  usage: USAGE,
})
const TEXT = (at: number) => ({ type: 'text', text: `text ${at}` })
const delta = (members: object, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta: members, finish_reason: null, ...more }],
})
const END = [delta({}, { finish_reason: 'stop' })]

export const fixture: TargetFixture = {
  say,
  written: {
    plain: completion(),
    role: ROLE,
    content: ROLE + chunk({ content: 'Hello' }),
    complete: completeStream(),
    failed: ROLE + event(OVERLOADED),
  },
  countsPromptFirst: false,
  textPiece: (text) => chunk({ content: text }),
  callForms: {
    'as a text': (object) => callWith(JSON.stringify(object)),
    'as an object': callWith,
  },
  argumentsMember: 'arguments',
  rich: {
    response: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'm',
      choices: [
        { index: 0, message: { ...RICH_MESSAGE, tool_calls: [RICH_CALL] }, finish_reason: 'stop', stop_reason: 'end' },
      ],
      usage: RICH_USAGE,
    },
    events: [
      { id: 'c', model: 'm', choices: [{ index: 0, delta: RICH_DELTA, finish_reason: null }] },
      { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage: RICH_USAGE },
    ],
  },
  manyInResponse: {
    parts: (n) => manyIn({ content: many(n, TEXT) }),
    calls: (n) => manyIn({ content: null, tool_calls: many(n, (at) => chatCall(at)) }),
    choices: (n) => manyIn({ content: 'x' }, n),
    letters: (n) => manyIn({ content: 'x'.repeat(100 * n) }),
    'letters of arguments': (n) => manyIn({ tool_calls: [chatCall(0, `{"a":"${'x'.repeat(100 * n)}"}`)] }),
  },
  manyInStream: {
    'pieces of a text': (n) => [...many(n, (at) => delta({ content: `t${at} ` })), ...END],
    'pieces of a thought': (n) => [...many(n, (at) => delta({ reasoning_content: `t${at} ` })), ...END],
    'texts and thoughts by turns': (n) => [
      ...many(n, (at) => delta(at % 2 ? { content: 'x' } : { reasoning_content: 'x' })),
      ...END,
    ],
    'log probabilities': (n) => [
      ...many(n, () => delta({ content: 'x' }, { logprobs: { content: [{ token: 'x', logprob: -1 }] } })),
      ...END,
    ],
    'log probabilities at once': (n) => [
      delta({ content: 'x' }, { logprobs: { content: many(10 * n, () => ({ token: 'x' })) } }),
      ...END,
    ],
    'pieces of arguments': (n) => [
      delta({ tool_calls: [chatCall(0, '{"a":"')] }),
      ...many(n, () => delta({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] })),
      ...END,
    ],
    'pieces of arguments while another call waits': (n) => [
      delta({ tool_calls: [chatCall(0, '{"a":[{}'), chatCall(1, '{}')] }),
      ...many(n, () => delta({ tool_calls: [{ index: 0, function: { arguments: ',{}' } }] })),
      ...END,
    ],
    calls: (n) => [...many(n, (at) => delta({ tool_calls: [chatCall(at)] })), ...END],
    'calls at once': (n) => [delta({ tool_calls: many(n, (at) => chatCall(at)) }), ...END],
    'calls without a number': (n) => [
      ...many(n, (at) => delta({ tool_calls: [{ id: `c${at}`, function: { name: 'f', arguments: '{}' } }] })),
      ...END,
    ],
    'pieces of calls without a number': (n) => [
      ...many(n, (at) => delta({ tool_calls: [chatCall(at, '{}')] })),
      ...many(n, () => delta({ tool_calls: [{ function: { arguments: ' ' } }] })),
      ...END,
    ],
    choices: (n) => [...many(n, (index) => delta({ content: 'x' }, { index })), ...END],
    'chunks without a word': (n) => [...many(n, () => delta({})), ...END],
  },
}
