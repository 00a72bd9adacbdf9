/** Clients of OpenAI's Responses API. */

import type { ClientFixture, Json, ResponsePart } from '../client-fixture.ts'
import { type Conversation, PICTURE, TOOL_SCHEMA, blockOf, said, stepsOf } from '../conversation.ts'
import { type Make, many } from '../cpu-growth.ts'

const SCHEMA = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] }

const richRequest = {
  model: 'm',
  instructions: 'Be brief.',
  input: [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Hello' }] },
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: 'Hello' },
        { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'low' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' },
      ],
    },
    { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'so' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] },
    { type: 'function_call', call_id: 'c1', name: 'look', namespace: 'zoo', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'a fox' }] },
    { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' },
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'later' }] },
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
  ],
  tools: [
    { type: 'function', name: 'look', parameters: SCHEMA },
    { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } },
    { type: 'namespace', name: 'zoo', tools: [{ type: 'function', name: 'look', parameters: SCHEMA }] },
    { type: 'web_search' },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
  text: { format: { type: 'json_schema', name: 'answer', schema: SCHEMA }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  metadata: { team: 'search' },
  service_tier: 'flex',
  truncation: 'auto',
  prompt_cache_key: 'k',
  user: 'u',
}

const letters = (count: number) => 'a'.repeat(count)
const textAt = (at: number) => ({ type: 'text', text: `text ${at}` })
const itemOf = (role: string) => (at: number) => ({ type: 'message', role, content: `text ${at}` })
const call = (at: number) => ({ type: 'function_call', call_id: `c${at}`, name: `f${at}`, arguments: '{}' })
const output = (at: number) => ({ type: 'function_call_output', call_id: `c${at}`, output: 'done' })
const thought = (at: number) => ({ type: 'reasoning', id: `r${at}`, summary: [], content: [textAt(at)] })
const inputOf = (...input: object[]) => ({ input: [{ role: 'user', content: 'Hello' }, ...input] })

const manyInRequest: Record<string, Make> = {
  'texts of the user': (n) => inputOf(...many(n, itemOf('user'))),
  'texts of the assistant': (n) => inputOf(...many(n, itemOf('assistant'))),
  'texts of the system': (n) => ({ input: many(n, itemOf('system')) }),
  'texts of the system, later': (n) => inputOf(...many(n, itemOf('system'))),
  turns: (n) => inputOf(...many(n, (at) => itemOf(at % 2 ? 'user' : 'assistant')(at))),
  thoughts: (n) => inputOf(...many(n, thought)),
  'texts of one thought': (n) => inputOf({ type: 'reasoning', summary: many(n, textAt) }),
  'texts behind a call': (n) => inputOf(call(0), ...many(n, itemOf('assistant')), output(0)),
  'calls of one turn': (n) => inputOf(...many(n, call), ...many(n, output)),
  'calls of a turn each': (n) => inputOf(...many(n, (at) => at).flatMap((at) => [call(at), output(at)])),
  'calls of custom tools': (n) =>
    inputOf(
      ...many(n, (at) => ({ type: 'custom_tool_call', call_id: `c${at}`, name: 'f', input: 'x' })),
      ...many(n, (at) => ({
        type: 'custom_tool_call_output',
        call_id: `c${at}`,
        output: [{ type: 'input_text', text: 'x' }],
      })),
    ),
  'parts of a text': (n) =>
    inputOf({ role: 'user', content: many(n, (at) => ({ type: 'input_text', text: `text ${at}` })) }),
  'parts of the system': (n) =>
    inputOf({ role: 'developer', content: many(n, (at) => ({ type: 'input_text', text: `text ${at}` })) }),
  'pictures of the system': (n) =>
    inputOf({ role: 'developer', content: many(n, () => ({ type: 'input_image', image_url: 'https://a.test' })) }),
  'pictures of a result': (n) =>
    inputOf(call(0), {
      ...output(0),
      output: many(n, () => ({ type: 'input_image', image_url: 'data:image/png;base64,AAAA' })),
    }),
  tools: (n) => ({ ...inputOf(), tools: many(n, (at) => ({ type: 'function', name: `f${at}`, parameters: {} })) }),
  'tools of a choice': (n) => ({
    ...inputOf(),
    tools: many(n, (at) => ({ type: 'function', name: `f${at}` })),
    tool_choice: {
      type: 'allowed_tools',
      mode: 'auto',
      tools: many(n, (at) => ({ type: 'function', name: `f${at}` })),
    },
  }),
  'tools of a namespace': (n) => ({
    ...inputOf(),
    tools: [{ type: 'namespace', name: 'n', tools: many(n, (at) => ({ type: 'function', name: `f${at}` })) }],
  }),
  'tools of a namespace each': (n) => ({
    ...inputOf(),
    tools: many(n, (at) => ({ type: 'namespace', name: `n${at}`, tools: [{ type: 'custom', name: 'f' }] })),
    tool_choice: { type: 'custom', name: 'f' },
  }),
  'tools that come later': (n) =>
    inputOf(...many(n, (at) => ({ type: 'additional_tools', tools: [{ type: 'function', name: `f${at}` }] }))),
  'tools that come at once': (n) =>
    inputOf({ type: 'additional_tools', tools: many(n, (at) => ({ type: 'function', name: `f${at}` })) }),
  'tools of kinds that nobody knows': (n) => ({ ...inputOf(), tools: many(n, (at) => ({ type: `hosted_${at}` })) }),
  'tools that call another model': (n) => ({ ...inputOf(), tools: many(n, (at) => ({ type: `advisor_${at}` })) }),
  'items of the vendor': (n) => inputOf(...many(n, (at) => ({ type: `mcp_call_${at}` }))),
  inclusions: (n) => ({ ...inputOf(), include: many(n, (at) => `i${at}`) }),
  members: (n) => ({ ...inputOf(), ...Object.fromEntries(many(n, (at) => [`x${at}`, at])) }),
  'letters of a text': (n) => ({ input: letters(100 * n) }),
  'letters of an address': (n) =>
    inputOf({ role: 'user', content: [{ type: 'input_image', image_url: `data:${letters(n)}` }] }),
  'letters of a kind': (n) => inputOf({ type: `mcp_${letters(100 * n)}` }),
}

const schemaWith = (object: string) => `{"type":"object","properties":{},"x-bounds":${object}}`

function readResponse(response: Json, text: string): ResponsePart {
  if (!['completed', 'incomplete'].includes(response.status)) return { text, id: response.id }
  const { input_tokens: promptTokens, output_tokens: completionTokens } = response.usage
  return {
    text,
    id: response.id,
    finishReason: response.incomplete_details?.reason ?? 'stop',
    usage: { promptTokens, completionTokens },
    isLast: true,
  }
}

function readEvent(data: string): ResponsePart {
  const { type, delta, response, code }: Json = JSON.parse(data)
  if (type === 'response.output_text.delta') return { text: delta }
  if (type === 'error') return { text: '', errorCode: code ?? 'without a code' }
  if (type === 'response.failed')
    return { text: '', id: response.id, errorCode: response.error.code ?? 'without a code' }
  return response ? readResponse(response, '') : { text: '' }
}

function conversation(given: Conversation, count: number): Record<string, unknown> {
  const id = (at: number, of: number) => `${given.idPrefix}${at}${of}`
  const picture = { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` }
  const input = stepsOf(given, count, id).flatMap((step): object[] => {
    if ('model' in step) {
      const { thought, isSigned, calls } = step.model
      const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: thought }] }
      const content = [{ type: 'output_text', text: said(step.model) }]
      return [
        ...(thought === null ? [] : [isSigned ? { ...reasoning, encrypted_content: 'gAAA' } : reasoning]),
        ...(said(step.model) === '' ? [] : [{ type: 'message', role: 'assistant', content }]),
        ...calls.map(({ name, input: made }, of) => {
          return { type: 'function_call', call_id: id(step.at, of), name, arguments: JSON.stringify(made) }
        }),
      ]
    }
    return [
      ...step.results.map(([of, { result, hasPicture }]) => {
        const output = hasPicture ? [{ type: 'input_text', text: result }, picture] : result
        return { type: 'function_call_output', call_id: of, output }
      }),
      ...(step.user === null ? [] : [{ role: 'user', content: [{ type: 'input_text', text: step.user }] }]),
      ...(step.reminder === null ? [] : [{ role: 'developer', content: step.reminder }]),
    ]
  })
  const tools = given.tools.map((name) => ({ type: 'function', name, parameters: TOOL_SCHEMA, strict: false }))
  const prompt = { role: 'developer', content: blockOf(count) }
  return { input: [prompt, ...input], instructions: given.system, tools, max_output_tokens: 50, temperature: 1 }
}

export const fixture: ClientFixture = {
  path: '/v1/responses',
  idPrefix: 'resp_',
  isNamedByRequest: true,
  body: (content, capTokens) => ({ max_output_tokens: capTokens, input: [{ role: 'user', content }] }),
  functions: (tools) =>
    tools.map(({ schema: parameters, ...named }) => ({ type: 'function', ...named, parameters, strict: false })),
  effort: { write: (effort) => ({ reasoning: { effort } }), refused: 'reasoning.effort' },
  jobHeader: {},
  richRequest,
  requestForAll: { input: [{ role: 'user', content: 'Hello' }], top_logprobs: 1 },
  requestWith: (object) =>
    `{"temperature":0.5,"input":[{"role":"user","content":"Hi"},{"type":"reasoning","summary":[]},{"type":"function_call","call_id":"c","name":"f","arguments":${JSON.stringify(object)}},{"type":"function_call_output","call_id":"c","output":"y"}],"tools":[{"type":"function","name":"f","parameters":${schemaWith(object)}}],"text":{"format":{"type":"json_schema","name":"n","schema":${schemaWith(object)}}}}`,
  manyInRequest,
  conversation,
  refusal: (code, text, param = null) => ({ error: { code, message: text, param } }),
  endsWithDone: true,
  readEvent,
  readPlain: (response) =>
    readResponse(
      response,
      response.output
        .flatMap((item: Json) => (item.type === 'reasoning' ? [] : (item.content ?? [])))
        .map((part: Json) => part.text)
        .join(''),
    ),
  full: /"incomplete_details":\{"reason":"max_output_tokens"\}/,
  idsIn: ({ response }) => (response ? [response.id] : []),
  argumentsMember: 'arguments',
  argumentPieces: () => [],
  namedEvents: {
    first: 'response.created',
    text: 'response.output_text.delta',
    terminal: 'response.completed',
    areNumbered: true,
    usageIn: (events) => events.at(-1).response.usage,
  },
  strictModel: ({ openai }) => openai.responses('gpt-5'),
}
