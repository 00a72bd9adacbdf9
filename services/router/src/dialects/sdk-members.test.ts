/**
 * Every member that the official SDKs' types know of a request is translated, reported as left out, or refused. A new version of
 * an SDK brings its new members here by itself.
 */

import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { SdkDeclarations } from '@gateway/testing/sdk-declarations'
import { describe, expect, test } from 'vitest'
import { BackendFault } from '../core/backend-fault.ts'
import { chatToMessages } from './chat-to-messages.ts'
import { chatToResponses } from './chat-to-responses.ts'
import type { Dialect } from './dialect.ts'
import { messagesToChat } from './messages-to-chat.ts'
import { chatToChat } from './chat-to-chat.ts'
import { viaChat } from './via-chat.ts'
import { responsesToChat } from './responses-to-chat.ts'

const require = createRequire(import.meta.url)
const fileOf = (sdk: string, file: string) => join(dirname(require.resolve(sdk)), 'resources', file)
const OPENAI = new SdkDeclarations(
  ['chat/completions/completions.d.ts', 'responses/responses.d.ts', 'shared.d.ts'].map((file) =>
    fileOf('openai', file),
  ),
)
const ANTHROPIC = new SdkDeclarations([fileOf('@anthropic-ai/sdk', 'messages/messages.d.ts')])

type Request = Record<string, unknown>
type WithMember = (member: Request) => Request
/** By the interface: a request with a member of it, and members that say nothing to a model. */
type Owners = Record<string, [WithMember, string[]?]>

const TEXT = { type: 'input_text', text: 'x' }
const REQUESTED = { role: 'user', content: 'x' }
const SCHEMA = { type: 'object', properties: {} }
const CALL = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const RESULT = { type: 'function_call_output', call_id: 'c', output: 'y' }
const CUSTOM = { type: 'custom_tool_call', call_id: 'c', name: 'f', input: '{}' }

/** The edge reads or refuses them; `metadata` comes back with the response. */
const OF_THE_EDGE = [
  'model',
  'input',
  'stream',
  'store',
  'background',
  'conversation',
  'previous_response_id',
  'metadata',
]

const TWO_TOOLS = [
  { type: 'function', name: 'f' },
  { type: 'function', name: 'g' },
]

const OF_RESPONSES: Owners = {
  ResponseCreateParamsBase: [(member) => member, OF_THE_EDGE],
  Reasoning: [(member) => ({ reasoning: member }), ['summary', 'generate_summary']],
  ResponseTextConfig: [(member) => ({ text: member })],
  ResponseFormatTextJSONSchemaConfig: [
    (member) => ({ text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA, ...member } } }),
    ['name', 'description', 'strict'],
  ],
  FunctionTool: [(member) => ({ tools: [{ type: 'function', name: 'f', ...member }] })],
  'ResponseInputItem.Message': [
    (member) => ({ input: [{ type: 'message', role: 'user', content: [TEXT], ...member }] }),
    ['status'],
  ],
  ResponseOutputMessage: [
    (member) => ({
      input: [
        REQUESTED,
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }], ...member },
        REQUESTED,
      ],
    }),
    ['id', 'status', 'phase', 'role'],
  ],
  'ResponseInputItem.AdditionalTools': [
    (member) => ({ input: [REQUESTED, { type: 'additional_tools', role: 'developer', tools: [], ...member }] }),
    ['id', 'role'],
  ],
  ResponseOutputRefusal: [
    (member) => ({
      input: [REQUESTED, { role: 'assistant', content: [{ type: 'refusal', refusal: 'no', ...member }] }, REQUESTED],
    }),
  ],
  ToolChoiceAllowed: [
    (member) => ({
      tools: TWO_TOOLS,
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }], ...member },
    }),
  ],
  ToolChoiceFunction: [(member) => ({ tools: TWO_TOOLS, tool_choice: { type: 'function', name: 'f', ...member } })],
  ToolChoiceCustom: [(member) => ({ tools: TWO_TOOLS, tool_choice: { type: 'custom', name: 'f', ...member } })],
  'ResponseReasoningItem.Summary': [
    (member) => ({
      input: [REQUESTED, { type: 'reasoning', summary: [{ type: 'summary_text', ...member }] }, CALL, RESULT],
    }),
  ],
  'ResponseReasoningItem.Content': [
    (member) => ({
      input: [REQUESTED, { type: 'reasoning', content: [{ type: 'reasoning_text', ...member }] }, CALL, RESULT],
    }),
  ],
  ResponseFormatText: [() => ({})],
  'CustomToolInputFormat.Text': [() => ({})],
  'CustomToolInputFormat.Grammar': [
    (member) => ({
      tools: [{ type: 'custom', name: 'f', format: { type: 'grammar', syntax: 'lark', definition: 'd', ...member } }],
    }),
  ],
  'NamespaceTool.Function': [
    (member) => ({ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', ...member }] }] }),
  ],
  CustomTool: [(member) => ({ tools: [{ type: 'custom', name: 'f', ...member }] })],
  NamespaceTool: [(member) => ({ tools: [{ type: 'namespace', name: 'n', tools: [], ...member }] }), ['name']],
  EasyInputMessage: [(member) => ({ input: [{ ...REQUESTED, ...member }] }), ['phase']],
  ResponseInputText: [(member) => ({ input: [{ role: 'user', content: [{ ...TEXT, ...member }] }] })],
  ResponseInputImage: [
    (member) => ({ input: [{ role: 'user', content: [TEXT, { type: 'input_image', image_url: 'u', ...member }] }] }),
    ['file_id', 'detail'],
  ],
  ResponseInputFile: [
    (member) => ({
      input: [
        { role: 'user', content: [TEXT, { type: 'input_file', file_data: 'data:text/plain;base64,eA==', ...member }] },
      ],
    }),
    ['detail', 'file_id', 'file_url'],
  ],
  ResponseOutputText: [
    (member) => ({
      input: [REQUESTED, { role: 'assistant', content: [{ type: 'output_text', text: 'x', ...member }] }, REQUESTED],
    }),
    ['annotations', 'logprobs'],
  ],
  ResponseFunctionToolCall: [
    (member) => ({ input: [REQUESTED, { ...CALL, ...member }, RESULT] }),
    ['id', 'status', 'async', 'caller', 'call_id'],
  ],
  ResponseCustomToolCall: [
    (member) => ({ input: [REQUESTED, { ...CUSTOM, ...member }, { ...RESULT, type: 'custom_tool_call_output' }] }),
    ['id', 'async', 'caller', 'call_id'],
  ],
  ResponseReasoningItem: [
    (member) => ({ input: [REQUESTED, { type: 'reasoning', summary: [], ...member }, CALL, RESULT] }),
    ['id', 'status', 'content', 'summary'],
  ],
}

const PDF_URL = 'data:application/pdf;base64,AA=='
const SOURCE = { type: 'base64', media_type: 'image/png', data: 'AA==' }
const PDF = { type: 'base64', media_type: 'application/pdf', data: 'AA==' }
const USE = { type: 'tool_use', id: 't', name: 'f', input: {} }
const USED = { type: 'tool_result', tool_use_id: 't', content: 'y' }
const block = (given: Request): Request => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, given] }],
})
const inLoop = (use: Request, result: Request): Request => ({
  messages: [
    REQUESTED,
    { role: 'assistant', content: [{ ...USE, ...use }] },
    { role: 'user', content: [{ ...USED, ...result }] },
  ],
})

const TWO_OF_MESSAGES = [
  { name: 'f', input_schema: SCHEMA },
  { name: 'g', input_schema: SCHEMA },
]

const OF_MESSAGES: Owners = {
  MessageCreateParamsBase: [(member) => member, ['model', 'stream', 'messages']],
  ToolReferenceBlockParam: [
    (member) => inLoop({}, { content: [{ type: 'tool_reference', tool_name: 'x', ...member }] }),
  ],
  UserMessageParam: [(member) => ({ messages: [{ ...REQUESTED, ...member }] }), ['role']],
  AssistantMessageParam: [
    (member) => ({ messages: [REQUESTED, { role: 'assistant', content: 'a', ...member }, REQUESTED] }),
    ['role'],
  ],
  SystemMessageParam: [(member) => ({ messages: [{ role: 'system', content: 's', ...member }, REQUESTED] }), ['role']],
  Metadata: [(member) => ({ metadata: member })],
  JSONOutputFormat: [(member) => ({ output_config: { format: { type: 'json_schema', schema: SCHEMA, ...member } } })],
  'Tool.InputSchema': [(member) => ({ tools: [{ name: 'f', input_schema: { ...SCHEMA, ...member } }] })],
  ToolChoiceAuto: [(member) => ({ tools: TWO_OF_MESSAGES, tool_choice: { type: 'auto', ...member } })],
  ToolChoiceAny: [(member) => ({ tools: TWO_OF_MESSAGES, tool_choice: { type: 'any', ...member } })],
  ToolChoiceTool: [(member) => ({ tools: TWO_OF_MESSAGES, tool_choice: { type: 'tool', name: 'f', ...member } })],
  Base64ImageSource: [(member) => block({ type: 'image', source: { ...SOURCE, ...member } })],
  URLImageSource: [(member) => block({ type: 'image', source: { type: 'url', url: 'https://a/b.png', ...member } })],
  Base64PDFSource: [(member) => block({ type: 'document', source: { ...PDF, ...member } }), ['media_type']],
  PlainTextSource: [
    (member) => block({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd', ...member } }),
    ['media_type'],
  ],
  ContentBlockSource: [(member) => block({ type: 'document', source: { type: 'content', content: 'd', ...member } })],
  FileDocumentSource: [(member) => block({ type: 'document', source: { type: 'file', file_id: 'f', ...member } })],
  OutputConfig: [(member) => ({ output_config: member })],
  ThinkingConfigEnabled: [
    (member) => ({ thinking: { type: 'enabled', budget_tokens: 1_024, ...member } }),
    ['display', 'budget_tokens'],
  ],
  Tool: [(member) => ({ tools: [{ name: 'f', input_schema: SCHEMA, ...member }] }), ['type']],
  TextBlockParam: [(member) => block({ type: 'text', text: 'y', ...member }), ['citations']],
  ImageBlockParam: [(member) => block({ type: 'image', source: SOURCE, ...member })],
  DocumentBlockParam: [(member) => block({ type: 'document', source: PDF, ...member })],
  SearchResultBlockParam: [
    (member) => block({ type: 'search_result', source: 's', title: 't', content: [], ...member }),
  ],
  ToolUseBlockParam: [(member) => inLoop(member, {}), ['caller', 'toolset_name', 'id']],
  ToolResultBlockParam: [(member) => inLoop({}, member), ['toolset_name', 'tool_use_id']],
}

const CALLING = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
const part = (given: Request): Request => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, given] }],
})
const called = (call: Request, result: Request = {}): Request => ({
  messages: [
    REQUESTED,
    { role: 'assistant', content: null, tool_calls: [{ ...CALLING, ...call }] },
    { role: 'tool', tool_call_id: 'c', content: 'y', ...result },
  ],
})
const FUNCTION = { name: 'f', parameters: SCHEMA }
const chosen = (choice: Request): Request => ({
  tools: [
    { type: 'function', function: FUNCTION },
    { type: 'function', function: { ...FUNCTION, name: 'g' } },
  ],
  tool_choice: choice,
})
const schemaBy = (member: Request): Request => ({
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA }, ...member },
})
const AUDIO = { data: 'AA==', format: 'wav' }
const CUSTOM_OF_CHAT = { type: 'custom', custom: { name: 'f' } }

const OF_CHAT: Owners = {
  ChatCompletionCreateParamsBase: [(member) => member, ['model', 'stream', 'messages', 'stream_options']],
  ChatCompletionSystemMessageParam: [
    (member) => ({ messages: [{ role: 'system', content: 's', ...member }, REQUESTED] }),
    ['role'],
  ],
  ChatCompletionDeveloperMessageParam: [
    (member) => ({ messages: [{ role: 'developer', content: 's', ...member }, REQUESTED] }),
    ['role'],
  ],
  ChatCompletionUserMessageParam: [(member) => ({ messages: [{ ...REQUESTED, ...member }] }), ['role']],
  ChatCompletionAssistantMessageParam: [
    (member) => ({ messages: [REQUESTED, { role: 'assistant', content: 'a', ...member }, REQUESTED] }),
    ['role'],
  ],
  ChatCompletionToolMessageParam: [(member) => called({}, member), ['role', 'tool_call_id']],
  ChatCompletionContentPartText: [(member) => part({ type: 'text', text: 'y', ...member })],
  ChatCompletionContentPartImage: [
    (member) => part({ type: 'image_url', image_url: { url: 'https://a/b.png' }, ...member }),
  ],
  'ChatCompletionContentPartImage.ImageURL': [
    (member) => part({ type: 'image_url', image_url: { url: 'https://a/b.png', ...member } }),
  ],
  ChatCompletionContentPartInputAudio: [(member) => part({ type: 'input_audio', input_audio: AUDIO, ...member })],
  'ChatCompletionContentPart.File': [(member) => part({ type: 'file', file: { file_data: PDF_URL }, ...member })],
  'ChatCompletionContentPart.File.File': [(member) => part({ type: 'file', file: { file_data: PDF_URL, ...member } })],
  ChatCompletionContentPartRefusal: [
    (member) => ({
      messages: [REQUESTED, { role: 'assistant', content: [{ type: 'refusal', refusal: 'no', ...member }] }, REQUESTED],
    }),
  ],
  ChatCompletionMessageFunctionToolCall: [(member) => called(member), ['id']],
  'ChatCompletionMessageFunctionToolCall.Function': [
    (member) => called({ function: { name: 'f', arguments: '{}', ...member } }),
  ],
  ChatCompletionMessageCustomToolCall: [
    (member) => called({ ...CUSTOM_OF_CHAT, function: undefined, ...member }),
    ['id', 'custom'],
  ],
  ChatCompletionFunctionTool: [(member) => ({ tools: [{ type: 'function', function: FUNCTION, ...member }] })],
  FunctionDefinition: [(member) => ({ tools: [{ type: 'function', function: { ...FUNCTION, ...member } }] })],
  ChatCompletionCustomTool: [(member) => ({ tools: [{ ...CUSTOM_OF_CHAT, ...member }] }), ['custom']],
  'ChatCompletionCustomTool.Custom': [(member) => ({ tools: [{ type: 'custom', custom: { name: 'f', ...member } }] })],
  'ChatCompletionCustomTool.Custom.Text': [() => ({})],
  'ChatCompletionCustomTool.Custom.Grammar': [
    (member) => ({ tools: [{ type: 'custom', custom: { name: 'f', format: { type: 'grammar', ...member } } }] }),
  ],
  'ChatCompletionCustomTool.Custom.Grammar.Grammar': [
    (member) => ({
      tools: [
        {
          type: 'custom',
          custom: { name: 'f', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'd', ...member } } },
        },
      ],
    }),
  ],
  'ChatCompletionMessageCustomToolCall.Custom': [
    (member) => called({ type: 'custom', function: undefined, custom: { name: 'f', input: 'x', ...member } }),
  ],
  'ChatCompletionNamedToolChoiceCustom.Custom': [
    (member) => ({ tools: [CUSTOM_OF_CHAT], tool_choice: { type: 'custom', custom: { name: 'f', ...member } } }),
  ],
  ChatCompletionAllowedToolChoice: [(member) => chosen({ type: 'allowed_tools', ...member })],
  ChatCompletionAllowedTools: [
    (member) =>
      chosen({
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }], ...member },
      }),
  ],
  ChatCompletionNamedToolChoice: [(member) => chosen({ type: 'function', ...member })],
  'ChatCompletionNamedToolChoice.Function': [(member) => chosen({ type: 'function', function: { ...member } })],
  ChatCompletionNamedToolChoiceCustom: [(member) => chosen({ type: 'custom', ...member }), ['custom']],
  ResponseFormatText: [() => ({})],
  ResponseFormatJSONObject: [() => ({})],
  ResponseFormatJSONSchema: [schemaBy],
  'ResponseFormatJSONSchema.JSONSchema': [
    (member) => schemaBy({ json_schema: { name: 'n', schema: SCHEMA, ...member } }),
    ['name', 'description', 'strict'],
  ],
}

/** Where another kind of value would be no such member at all. */
const VALUES: Record<string, unknown> = {
  arguments: '{"a":1}',
  reasoning: { effort: 'low' },
  text: { format: { type: 'json_schema', schema: SCHEMA } },
  output_config: { effort: 'low' },
  top_logprobs: 3,
  citations: { enabled: true },
  content: 'said otherwise',
  effort: 'low',
  format: { type: 'json_schema', schema: SCHEMA },
  include: ['reasoning.encrypted_content'],
  is_error: true,
  max_output_tokens: 99,
  max_tokens: 99,
  parallel_tool_calls: false,
  role: 'assistant',
  stop_sequences: ['y'],
  strict: true,
  disable_parallel_tool_use: true,
  mode: 'required',
  temperature: 0.5,
  thinking: { type: 'enabled', budget_tokens: 4_096 },
  top_p: 0.5,
  truncation: 'auto',
  metadata: { user_id: 'u' },
}
/** The members that the request must hold so that the member says something. */
const BESIDE: Record<string, Request> = {
  parallel_tool_calls: { tools: [{ type: 'function', name: 'f' }] },
  tool_choice: { tools: [{ type: 'function', name: 'f' }] },
}
const CHOICES: Record<string, unknown> = { responses: 'required', messages: { type: 'any' } }

function write(dialect: Dialect, request: Request): { sent: string; dropped: string[] } | 'refused' {
  try {
    const body = Buffer.from(JSON.stringify(request))
    const clientRequest = {
      kind: 'chat' as const,
      body,
      model: 'claude-sonnet-4-6',
      stream: false,
      maxTokens: 9_000,
      form: [],
    }
    const written = dialect.request(clientRequest)
    return { sent: written.body.toString(), dropped: written.dropped }
  } catch (fault) {
    if (fault instanceof BackendFault) return 'refused'
    throw fault
  }
}

function valueOf(client: string, owner: string, member: string): unknown {
  const own = client === 'chat' ? (OF_CHAT_VALUES[`${owner}.${member}`] ?? OF_CHAT_VALUES[member]) : undefined
  if (own !== undefined) return own
  if (owner === 'CustomTool' && member === 'format') return { type: 'grammar', syntax: 'lark', definition: 'd' }
  if (member === 'tool_choice') return CHOICES[client]
  if (owner.startsWith('ResponseReasoningItem.')) return 'other'
  if (member === 'source') return owner === 'ImageBlockParam' ? { ...SOURCE, data: 'BB==' } : { ...PDF, data: 'BB==' }
  if (owner === 'ToolChoiceAllowed' && member === 'tools') return [{ type: 'function', name: 'g' }]
  if (owner.startsWith('ToolChoice') && member === 'name') return 'g'
  if (owner === 'ResponseReasoningItem' && (member === 'summary' || member === 'content'))
    return [{ type: 'summary_text', text: 'other' }]
  if (member === 'tools')
    return [client === 'responses' ? { type: 'function', name: 'z' } : { name: 'z', input_schema: SCHEMA }]
  return VALUES[member] ?? 'another value'
}

const OF_CHAT_VALUES: Record<string, unknown> = {
  tools: [{ type: 'function', function: { name: 'z' } }],
  tool_choice: 'required',
  grammar: { syntax: 'lark', definition: 'e' },
  image_url: { url: 'https://a/c.png' },
  'ChatCompletionContentPart.File.file': { file_data: 'data:text/plain;base64,eA==' },
  file_data: 'data:text/plain;base64,eA==',
  function: { name: 'h', arguments: '{"a":1}' },
  'ChatCompletionNamedToolChoice.function': { name: 'g' },
  'ChatCompletionNamedToolChoice.Function.name': 'g',
  allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'g' } }] },
  'ChatCompletionAllowedTools.tools': [{ type: 'function', function: { name: 'g' } }],
  'ChatCompletionAllowedTools.mode': 'required',
  tool_calls: [CALLING],
  parameters: { type: 'object', properties: { a: {} } },
  response_format: { type: 'json_schema', json_schema: { name: 'n', schema: SCHEMA } },
  json_schema: { name: 'n', schema: { type: 'object', properties: { a: {} } } },
  schema: { type: 'object', properties: { a: {} } },
  content: [{ type: 'text', text: 'said otherwise' }],
  n: 2,
  logprobs: true,
  stop: 'END',
  modalities: ['text', 'audio'],
  detail: 'low',
  metadata: { a: 'b' },
  store: true,
  user: 'u',
}

/** The items that stand in a list beside a kind that is tried in it. */
const IN_LISTS: Record<string, unknown[]> = {
  input: [REQUESTED],
  messages: [REQUESTED],
  system: [{ type: 'text', text: 'x' }],
}

/** They say nothing themselves, and hold members that do. */
const HOLDERS = new Set(['messages', 'input', 'content', 'summary', 'custom'])
/** The same JSON to the backend. */
const VERBATIM = new Set(['moderation', 'prompt_cache_options', 'prompt_cache_breakpoint'])

const said = (client: string) => ({ type: client === 'responses' ? 'input_text' : 'text', text: 'x' })

interface Case {
  client: string
  target: string
  dialect: Dialect
  sdk: SdkDeclarations
  root: string
  owners: Owners
  base: Request
}
const messagesBase = { max_tokens: 9, messages: [REQUESTED] }
const ofResponses = { client: 'responses', sdk: OPENAI, root: 'ResponseCreateParamsBase', owners: OF_RESPONSES }
const ofMessages = { client: 'messages', sdk: ANTHROPIC, root: 'MessageCreateParamsBase', owners: OF_MESSAGES }
const ofChat = { client: 'chat', sdk: OPENAI, root: 'ChatCompletionCreateParamsBase', owners: OF_CHAT }
const CASES: Case[] = [
  { ...ofChat, target: 'messages', dialect: chatToMessages, base: { messages: [REQUESTED] } },
  { ...ofChat, target: 'responses', dialect: chatToResponses, base: { messages: [REQUESTED] } },
  { ...ofResponses, target: 'chat', dialect: viaChat(responsesToChat, chatToChat), base: { input: 'x' } },
  { ...ofResponses, target: 'messages', dialect: viaChat(responsesToChat, chatToMessages), base: { input: 'x' } },
  { ...ofMessages, target: 'chat', dialect: viaChat(messagesToChat, chatToChat), base: messagesBase },
  { ...ofMessages, target: 'responses', dialect: viaChat(messagesToChat, chatToResponses), base: messagesBase },
]

type Fate = 'kept' | 'told' | 'refused' | 'lost'

function fateOf({ dialect, base }: Case, without: Request, with_: Request): Fate {
  const before = write(dialect, { ...base, ...without })
  const after = write(dialect, { ...base, ...with_ })
  if (after === 'refused') return 'refused'
  if (before === 'refused') return 'kept'
  if (after.dropped.length > before.dropped.length) return 'told'
  return after.sent === before.sent ? 'lost' : 'kept'
}

function fateOfMember(of: Case, owner: string, member: string): Fate {
  const [withMember] = of.owners[owner]!
  const beside = of.client === 'chat' ? BESIDE_CHAT[member] : BESIDE[member]
  const request = (given: Request) => ({ ...beside, ...withMember(given) })
  return fateOf(of, request({}), request({ [member]: valueOf(of.client, owner, member) }))
}

const BESIDE_CHAT: Record<string, Request> = {
  parallel_tool_calls: { tools: [{ type: 'function', function: FUNCTION }] },
  tool_choice: { tools: [{ type: 'function', function: FUNCTION }] },
  top_logprobs: { logprobs: true },
}

describe.each(CASES)('of a request in $client for a backend of $target', (of) => {
  const { sdk, owners, root, client } = of

  test.each(Object.entries(owners))('no member of %s is lost without a report', (owner, [, silent = []]) => {
    const members = sdk.membersOf(owner).map(({ name }) => name)
    const lost = members.filter(
      (name) => name !== 'type' && !silent.includes(name) && fateOfMember(of, owner, name) === 'lost',
    )
    expect(lost).toEqual([])
  })

  /** From the root through every member that reaches the backend. One that is left out or refused takes its inside with it. */
  test('every kind of object in it is known here, left out and reported, or refused', () => {
    const unknown: string[] = []
    const seen = new Set([root])
    for (const owner of seen) {
      const [withMember, silent = []] = owners[owner]!
      for (const { name, type, isList } of sdk.membersOf(owner)) {
        const isSilent = silent.includes(name) && !HOLDERS.has(name)
        const isComplete = !silent.includes(name) && ['told', 'refused'].includes(fateOfMember(of, owner, name))
        if (isSilent || isComplete || VERBATIM.has(name)) continue
        for (const kind of sdk.interfacesIn(type, owner)) {
          if (owners[kind]) {
            seen.add(kind)
            continue
          }
          const [literal, role] = [sdk.literalOf(kind, 'type'), sdk.literalOf(kind, 'role')]
          const sample = { ...(literal && { type: literal }), ...(role && { role, content: 'x' }) }
          const others = IN_LISTS[name] ?? (name === 'content' ? [said(client)] : [])
          const [before, after] = isList ? [others, [...others, sample]] : [undefined, sample]
          const fate = fateOf(of, withMember({ [name]: before }), withMember({ [name]: after }))
          const isBare = sdk.membersOf(kind).every((each) => ['type', 'role'].includes(each.name))
          if (fate === 'lost' || (fate === 'kept' && !isBare)) unknown.push(`${owner}.${name}: ${kind} (${fate})`)
        }
      }
    }
    expect(unknown).toEqual([])
  })
})
