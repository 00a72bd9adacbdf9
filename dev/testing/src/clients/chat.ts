/** Clients of OpenAI's chat completions. */

import { isFlat } from '@gateway/contracts/errors'
import { ExactNumber } from '@gateway/contracts/json'
import type { ClientFixture, Json, ResponsePart } from '../client-fixture.ts'
import { type Conversation, TOOL_SCHEMA, blockOf, said, stepsOf } from '../conversation.ts'
import { type Make, many } from '../cpu-growth.ts'

const SCHEMA = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
const TEXT = { type: 'text', text: 'Hello' }
const EPHEMERAL = { cache_control: { type: 'ephemeral' } }

const richRequest = {
  model: 'm',
  messages: [
    { role: 'system', content: [{ ...TEXT, ...EPHEMERAL }] },
    { role: 'developer', content: 'Be brief.' },
    {
      role: 'user',
      content: [
        TEXT,
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
        { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
        { type: 'file', file: { file_id: 'file_1' } },
      ],
    },
    {
      role: 'assistant',
      content: [{ type: 'refusal', refusal: 'no' }],
      reasoning_content: 'so',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"home"}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'a fox' },
  ],
  tools: [{ type: 'function', function: { name: 'look', description: 'Looks.', parameters: SCHEMA } }],
  tool_choice: { type: 'function', function: { name: 'look' } },
  response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: SCHEMA } },
  reasoning_effort: 'low',
  service_tier: 'flex',
  speed: 'fast',
  stop: ['end'],
  user: 'u',
  metadata: { team: 'search' },
  verbosity: 'low',
  chat_template_kwargs: { mode: 'x' },
}

const letters = (count: number, of = 'a') => of.repeat(count)

const USER = { role: 'user', content: 'Hello' }
const chatCall = (at: number, args = '{}') => ({
  id: `call_${at}!`,
  type: 'function',
  function: { name: `f${at}`, arguments: args },
})
const chatResult = (at: number) => ({ role: 'tool', tool_call_id: `call_${at}!`, content: 'done' })
const chatOf = (...messages: object[]) => ({ messages: [USER, ...messages] })
const partsOf = (role: string, count: number, part: (at: number) => object) =>
  chatOf({ role, content: many(count, part) })
const picture = (url: string) => ({ type: 'image_url', image_url: { url } })
const textAt = (at: number) => ({ type: 'text', text: `text ${at}` })

const manyInRequest: Record<string, Make> = {
  'texts of the user': (n) => chatOf(...many(n, (at) => ({ role: 'user', content: `text ${at}` }))),
  'texts of the assistant': (n) => chatOf(...many(n, (at) => ({ role: 'assistant', content: `text ${at}` }))),
  'texts of the system': (n) => chatOf(...many(n, (at) => ({ role: 'system', content: `text ${at}` }))),
  'texts of the developer': (n) => chatOf(...many(n, (at) => ({ role: 'developer', content: `text ${at}` }))),
  turns: (n) => chatOf(...many(n, (at) => ({ role: at % 2 ? 'user' : 'assistant', content: `text ${at}` }))),
  'parts of the user': (n) => partsOf('user', n, textAt),
  'parts of the assistant': (n) => partsOf('assistant', n, (at) => ({ type: 'refusal', refusal: `no ${at}` })),
  'parts of the system': (n) => partsOf('system', n, (at) => ({ ...textAt(at), cache_control: { type: 'ephemeral' } })),
  pictures: (n) => partsOf('user', n, () => picture('data:image/png;base64,AAAA')),
  files: (n) => partsOf('user', n, () => ({ type: 'file', file: { file_data: 'data:text/plain;base64,AAAA' } })),
  'calls of one turn': (n) =>
    chatOf({ role: 'assistant', content: null, tool_calls: many(n, (at) => chatCall(at)) }, ...many(n, chatResult)),
  'calls of a turn each': (n) =>
    chatOf(
      ...many(n, (at) => at).flatMap((at) => [
        { role: 'assistant', content: '', tool_calls: [chatCall(at)] },
        chatResult(at),
      ]),
    ),
  'parts of a result': (n) => chatOf({ role: 'tool', tool_call_id: 'a', content: many(n, textAt) }),
  tools: (n) => ({ ...chatOf(), tools: many(n, (at) => ({ type: 'function', function: { name: `f${at}` } })) }),
  'tools that call another model': (n) => ({ ...chatOf(), tools: many(n, (at) => ({ type: `advisor_${at}` })) }),
  'models to fall back on': (n) => ({ ...chatOf(), models: many(n, (at) => `m${at}`) }),
  members: (n) => ({ ...chatOf(), ...Object.fromEntries(many(n, (at) => [`x${at}`, at])) }),
  'numbers of many digits': (n) => ({ ...chatOf(), seeds: many(n, () => new ExactNumber('12345678901234567.89')) }),
  stops: (n) => ({ ...chatOf(), stop: many(n, (at) => `s${at}`) }),
  'levels of arguments': (n) => chatOf({ role: 'assistant', tool_calls: [chatCall(0, '['.repeat(n))] }, chatResult(0)),
  'letters of a text': (n) => chatOf({ role: 'user', content: letters(100 * n) }),
  'spaces of a text': (n) => chatOf({ role: 'user', content: letters(100 * n, ' ') }),
  'quotes of a text': (n) => chatOf({ role: 'user', content: letters(100 * n, '"\\') }),
  'letters of an id': (n) => chatOf({ role: 'tool', tool_call_id: letters(100 * n), content: '' }),
  'quotes of an id': (n) => chatOf({ role: 'tool', tool_call_id: letters(100 * n, '\\"'), content: '' }),
  'letters of a data address': (n) => partsOf('user', 1, () => picture(`data:${letters(n)}`)),
  'semicolons of a data address': (n) => partsOf('user', 1, () => picture(`data:a${letters(n, ';base64')}`)),
  'letters of a file': (n) => partsOf('user', 1, () => ({ type: 'file', file: { file_data: `data:${letters(n)}` } })),
  'letters of arguments': (n) =>
    chatOf({ role: 'assistant', tool_calls: [chatCall(0, `{"a":"${letters(100 * n)}"}`)] }, chatResult(0)),
  'spaces of arguments': (n) =>
    chatOf({ role: 'assistant', tool_calls: [chatCall(0, letters(100 * n, ' '))] }, chatResult(0)),
  'letters of an effort': (n) => ({ ...chatOf(), reasoning_effort: letters(100 * n) }),
}

const schemaWith = (object: string) => `{"type":"object","properties":{},"x-bounds":${object}}`

const usageOf = (usage: Json) =>
  usage ? { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens ?? 0 } : undefined

function readEvent(data: string): ResponsePart {
  const chunk: Json = JSON.parse(data)
  if (chunk.error) return { text: '', errorCode: chunk.error.code ?? 'without a code' }
  const [choice] = chunk.choices
  return {
    text: choice?.delta?.content ?? '',
    id: chunk.id,
    finishReason: choice?.finish_reason ?? undefined,
    usage: usageOf(chunk.usage),
  }
}

function readPlain(reply: Json): ResponsePart {
  const [choice] = reply.choices
  return {
    text: choice.message.content ?? '',
    id: reply.id,
    finishReason: choice.finish_reason ?? undefined,
    usage: usageOf(reply.usage),
    isLast: true,
  }
}

function conversation(given: Conversation, count: number): Record<string, unknown> {
  const id = (at: number, of: number) => `${given.idPrefix}${at}${of}`
  const messages = stepsOf(given, count, id).flatMap((step): object[] => {
    if ('model' in step) {
      const { thought, calls } = step.model
      const tool_calls = calls.map(({ name, input }, of) => {
        return { id: id(step.at, of), type: 'function', function: { name, arguments: JSON.stringify(input) } }
      })
      const reasoning = thought === null ? {} : { reasoning_content: thought }
      const made = calls.length > 0 ? { tool_calls } : {}
      return [{ role: 'assistant', content: said(step.model), ...reasoning, ...made }]
    }
    return [
      ...step.results.map(([of, { result }]) => ({ role: 'tool', tool_call_id: of, content: result })),
      ...(step.user === null ? [] : [{ role: 'user', content: step.user }]),
      ...(step.reminder === null ? [] : [{ role: 'system', content: step.reminder }]),
    ]
  })
  const tools = given.tools.map((name) => ({ type: 'function', function: { name, parameters: TOOL_SCHEMA } }))
  const prompt = { role: 'system', content: `${blockOf(count)}\n${given.system}` }
  return { messages: [prompt, ...messages], tools, max_tokens: 50, temperature: 1 }
}

export const fixture: ClientFixture = {
  path: '/v1/chat/completions',
  idPrefix: 'chatcmpl-',
  body: (content, capTokens) => ({ max_tokens: capTokens, messages: [{ role: 'user', content }] }),
  functions: (tools) =>
    tools.map(({ schema: parameters, ...named }) => ({ type: 'function', function: { ...named, parameters } })),
  effort: { write: (effort) => ({ reasoning_effort: effort }), refused: 'reasoning_effort' },
  jobHeader: {},
  richRequest,
  requestForAll: { messages: [USER] },
  requestWith: (object) =>
    `{"temperature":0.5,"metadata":${object},"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"a b","type":"function","function":{"name":"f","arguments":${JSON.stringify(object)}}}]},{"role":"tool","tool_call_id":"a b","content":"y"}],"tools":[{"type":"function","function":{"name":"f","parameters":${schemaWith(object)}}}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":${schemaWith(object)}}}}`,
  manyInRequest,
  conversation,
  refusal: (code, text) => (isFlat(code) ? { code } : { error: { code, message: text, param: null } }),
  endsWithDone: true,
  readEvent,
  readPlain,
  full: /"finish_reason":"length"/,
  idsIn: ({ id }) => [id],
  argumentsMember: 'arguments',
  argumentPieces: ({ choices }) =>
    (choices[0]?.delta?.tool_calls ?? []).map((call: Json) => call.function.arguments ?? ''),
  strictModel: ({ openai }) => openai.chat('gpt-5'),
}
