/** Clients of Anthropic's Messages API. */

import type { ClientFixture, Json, ResponsePart } from '../client-fixture.ts'
import { type Conversation, PICTURE, TOOL_SCHEMA, blockOf, said, stepsOf } from '../conversation.ts'
import { type Make, many } from '../cpu-growth.ts'

const SCHEMA = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }
const TEXT = { type: 'text', text: 'Hello' }
const EPHEMERAL = { cache_control: { type: 'ephemeral' } }

const richRequest = {
  model: 'm',
  max_tokens: 100,
  system: [{ ...TEXT, ...EPHEMERAL }],
  messages: [
    {
      role: 'user',
      content: [
        TEXT,
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        { type: 'document', title: 'a', source: { type: 'content', content: [TEXT] }, citations: { enabled: true } },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hello' } },
        { type: 'search_result', source: 's', title: 't', content: [TEXT] },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'so', signature: 'svc_unsigned' },
        { type: 'thinking', thinking: 'so', signature: 'signed' },
        { type: 'compaction', content: 'before' },
        TEXT,
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'fox' } },
        { type: 'tool_use', id: 't1', name: 'look', input: { at: 'home' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [TEXT] }] },
  ],
  tools: [
    { name: 'look', type: 'custom', description: 'Looks.', input_schema: SCHEMA, ...EPHEMERAL },
    { type: 'web_search_20250305', name: 'web_search' },
  ],
  tool_choice: { type: 'tool', name: 'look' },
  thinking: { type: 'enabled', budget_tokens: 2_048, display: 'summarized' },
  output_config: { format: { type: 'json_schema', schema: SCHEMA }, effort: 'low' },
  stop_sequences: ['end'],
  metadata: { user_id: 'u' },
  service_tier: 'auto',
  speed: 'fast',
}

const letters = (count: number) => 'a'.repeat(count)
const USER = { role: 'user', content: 'Hello' }
const block = (at: number) => ({ type: 'text', text: `text ${at}` })
const use = (at: number) => ({ type: 'tool_use', id: `t${at}!`, name: `f${at}`, input: { at } })
const result = (at: number, content: unknown = 'done') => ({ type: 'tool_result', tool_use_id: `t${at}!`, content })
const dialogOf = (...messages: object[]) => ({ max_tokens: 9, messages: [USER, ...messages] })
const blocksOf = (role: string, count: number, make: (at: number) => object) =>
  dialogOf({ role, content: many(count, make) }, USER)

const manyInRequest: Record<string, Make> = {
  'texts of the user': (n) => dialogOf(...many(n, (at) => ({ role: 'user', content: `text ${at}` }))),
  'blocks of the user, a message each': (n) =>
    dialogOf(...many(n, (at) => ({ role: 'user', content: [block(at), block(at)] }))),
  'texts of the assistant': (n) => dialogOf(...many(n, (at) => ({ role: 'assistant', content: `text ${at}` }))),
  'texts of the system': (n) => dialogOf(...many(n, (at) => ({ role: 'system', content: `text ${at}` }))),
  turns: (n) => dialogOf(...many(n, (at) => ({ role: at % 2 ? 'user' : 'assistant', content: `text ${at}` }))),
  'blocks of the system': (n) => ({ ...dialogOf(), system: many(n, block) }),
  'blocks of the user': (n) => blocksOf('user', n, block),
  'blocks of the assistant': (n) => blocksOf('assistant', n, block),
  summaries: (n) => blocksOf('assistant', n, (at) => ({ type: 'compaction', content: `text ${at}` })),
  thoughts: (n) => blocksOf('assistant', n, () => ({ type: 'thinking', thinking: 'so', signature: 'x' })),
  'thoughts without a signature': (n) =>
    blocksOf('assistant', n, () => ({ type: 'thinking', thinking: 'so', signature: 'svc_unsigned' })),
  'calls of one turn': (n) =>
    dialogOf({ role: 'assistant', content: many(n, use) }, { role: 'user', content: many(n, (at) => result(at)) }),
  'calls of a turn each': (n) =>
    dialogOf(
      ...many(n, (at) => at).flatMap((at) => [
        { role: 'assistant', content: [use(at)] },
        { role: 'user', content: [result(at)] },
      ]),
    ),
  pictures: (n) => blocksOf('user', n, () => ({ type: 'image', source: { type: 'url', url: 'https://a.test' } })),
  'pictures of a result': (n) =>
    dialogOf(
      { role: 'assistant', content: [use(0)] },
      {
        role: 'user',
        content: [
          result(
            0,
            many(n, () => ({ type: 'image', source: { type: 'url', url: 'https://a.test' } })),
          ),
        ],
      },
    ),
  'blocks of a document': (n) =>
    dialogOf({ role: 'user', content: [{ type: 'document', source: { type: 'content', content: many(n, block) } }] }),
  tools: (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ name: `f${at}`, input_schema: { type: 'object' } })) }),
  'tools of the vendor': (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ type: `tool_${at}`, name: `f${at}` })) }),
  'tools that call another model': (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ type: `advisor_${at}` })) }),
  'members of tools': (n) => ({ ...dialogOf(), tools: many(n, (at) => ({ name: `f${at}`, [`x${at}`]: 1 })) }),
  members: (n) => ({ ...dialogOf(), ...Object.fromEntries(many(n, (at) => [`x${at}`, at])) }),
  stops: (n) => ({ ...dialogOf(), stop_sequences: many(n, (at) => `s${at}`) }),
  'letters of a text': (n) => dialogOf({ role: 'user', content: letters(100 * n) }),
  'letters of a user': (n) => ({ ...dialogOf(), metadata: { user_id: letters(100 * n) } }),
  'letters of data': (n) =>
    blocksOf('user', 1, () => ({ type: 'image', source: { type: 'base64', media_type: 'a', data: letters(100 * n) } })),
}

const schemaWith = (object: string) => `{"type":"object","properties":{},"x-bounds":${object}}`

const usageOf = (usage: Json) => ({ promptTokens: usage.input_tokens, completionTokens: usage.output_tokens })
const finishOf = (reason: string | null) => (reason === 'end_turn' ? 'stop' : (reason ?? undefined))

function readEvent(data: string): ResponsePart {
  const event: Json = JSON.parse(data)
  switch (event.type) {
    case 'message_start':
      return { text: '', id: event.message.id }
    case 'content_block_delta':
      return { text: event.delta.text ?? '' }
    case 'message_delta':
      return { text: '', finishReason: finishOf(event.delta.stop_reason), usage: usageOf(event.usage) }
    case 'message_stop':
      return { text: '', isLast: true }
    case 'error':
      return { text: '', errorCode: event.error.code ?? 'without a code' }
    default:
      return { text: '' }
  }
}

function readPlain(reply: Json): ResponsePart {
  return {
    text: reply.content.map((block: Json) => block.text ?? '').join(''),
    id: reply.id,
    finishReason: finishOf(reply.stop_reason),
    usage: usageOf(reply.usage),
    isLast: true,
  }
}

function conversation(given: Conversation, count: number): Record<string, unknown> {
  const id = (at: number, of: number) => `${given.idPrefix}${at}${of}`
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } }
  const messages = stepsOf(given, count, id).flatMap((step): object[] => {
    if ('model' in step) {
      const { thought, isSigned, calls } = step.model
      const thinking = { type: 'thinking', thinking: thought, signature: isSigned ? 'EqQB' : 'svc_unsigned' }
      const content = [
        ...(thought === null ? [] : [thinking]),
        ...(said(step.model) === '' ? [] : [{ type: 'text', text: said(step.model) }]),
        ...calls.map(({ name, input }, of) => ({ type: 'tool_use', id: id(step.at, of), name, input })),
      ]
      return [{ role: 'assistant', content }]
    }
    const content = [
      ...step.results.map(([of, { result, hasPicture }]) => {
        const parts = [{ type: 'text', text: result }, ...(hasPicture ? [picture] : [])]
        return { type: 'tool_result', tool_use_id: of, content: parts }
      }),
      ...(step.user === null ? [] : [{ type: 'text', text: step.user }]),
    ]
    return [{ role: 'user', content }, ...(step.reminder === null ? [] : [{ role: 'system', content: step.reminder }])]
  })
  const tools = given.tools.map((name) => ({ name, description: name, input_schema: TOOL_SCHEMA }))
  const system = [blockOf(count), given.system].map((one) => ({ type: 'text', text: one }))
  return { messages, system, tools, max_tokens: 50, temperature: 1 }
}

export const fixture: ClientFixture = {
  path: '/v1/messages',
  idPrefix: 'msg_',
  body: (content, capTokens) => ({ max_tokens: capTokens, messages: [{ role: 'user', content }] }),
  functions: (tools) => tools.map(({ schema: input_schema, ...named }) => ({ ...named, input_schema })),
  effort: {
    write: (effort) => (effort === 'none' ? { thinking: { type: 'disabled' } } : { output_config: { effort } }),
    refused: 'thinking',
  },
  jobHeader: { anthropicVersion: '2024-01-01', anthropicBeta: 'theirs' },
  richRequest,
  requestForAll: { messages: [USER], max_tokens: 9, thinking: { type: 'enabled', budget_tokens: 2_048 } },
  requestWith: (object) =>
    `{"temperature":0.5,"max_tokens":99,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"svc_unsigned"},{"type":"tool_use","id":"t","name":"f","input":${object}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"y"}]}],"tools":[{"name":"f","input_schema":${schemaWith(object)}}],"output_config":{"format":{"type":"json_schema","schema":${schemaWith(object)}}}}`,
  manyInRequest,
  conversation,
  refusal: (code, text) => ({ type: 'error', error: { code, message: text }, request_id: text }),
  endsWithDone: false,
  readEvent,
  readPlain,
  full: /"stop_reason":"max_tokens"[^\n]*\n\n(?:.*\n)*event: message_stop/,
  idsIn: ({ message }) => (message ? [message.id] : []),
  argumentsMember: 'input',
  argumentPieces: ({ delta }) => (delta?.partial_json === undefined ? [] : [delta.partial_json]),
  namedEvents: {
    first: 'message_start',
    text: 'content_block_delta',
    terminal: 'message_stop',
    areNumbered: false,
    usageIn: (events) => events.at(-2).usage,
  },
  strictModel: ({ anthropic }) => anthropic('claude-sonnet-4-5'),
}
