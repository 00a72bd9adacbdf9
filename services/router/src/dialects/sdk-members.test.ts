/**
 * Every member that the official SDKs' types know of a request is translated, told as left out, or refused. A new version of
 * an SDK brings its new members here by itself.
 */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BackendFault } from '../core/backend-fault.ts'
import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { messagesFront } from './messages-to-chat.ts'
import { openai } from './openai.ts'
import { overChat } from './over-chat.ts'
import { responsesFront } from './responses-to-chat.ts'

const require = createRequire(import.meta.url)
const typesOf = (sdk: string, file: string) =>
  readFileSync(join(dirname(require.resolve(sdk)), 'resources', file), 'utf8')
const OPENAI = typesOf('openai', 'responses/responses.d.ts') + typesOf('openai', 'shared.d.ts')
const ANTHROPIC = typesOf('@anthropic-ai/sdk', 'messages/messages.d.ts')

/** The names of an interface's own members. */
function membersOf(types: string, name: string): string[] {
  const [, body] = new RegExp(`^export interface ${name} (?:extends \\S+ )?\\{$([^]*?)^\\}$`, 'm').exec(types) ?? []
  if (body === undefined) throw new Error(`the types know no ${name}`)
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(([, member]) => member!)
}

type Request = Record<string, unknown>
type WithMember = (member: Request) => Request

const TEXT = { type: 'input_text', text: 'x' }
const ASKED = { role: 'user', content: 'x' }
const SCHEMA = { type: 'object', properties: {} }
const CALL = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
const RESULT = { type: 'function_call_output', call_id: 'c', output: 'y' }
const CUSTOM = { type: 'custom_tool_call', call_id: 'c', name: 'f', input: '{}' }

/** The edge reads or refuses them; `metadata` comes back with the answer. */
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

/** By the interface: a request with a member of it, and members that say nothing to a model. */
const OF_RESPONSES: Record<string, [WithMember, string[]?]> = {
  ResponseCreateParamsBase: [(member) => member, OF_THE_EDGE],
  Reasoning: [(member) => ({ reasoning: member }), ['summary', 'generate_summary']],
  ResponseTextConfig: [(member) => ({ text: member })],
  ResponseFormatTextJSONSchemaConfig: [
    (member) => ({ text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA, ...member } } }),
    ['name', 'description', 'strict'],
  ],
  FunctionTool: [(member) => ({ tools: [{ type: 'function', name: 'f', ...member }] })],
  CustomTool: [(member) => ({ tools: [{ type: 'custom', name: 'f', ...member }] })],
  NamespaceTool: [(member) => ({ tools: [{ type: 'namespace', name: 'n', tools: [], ...member }] }), ['name']],
  EasyInputMessage: [(member) => ({ input: [{ ...ASKED, ...member }] }), ['phase']],
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
      input: [ASKED, { role: 'assistant', content: [{ type: 'output_text', text: 'x', ...member }] }, ASKED],
    }),
    ['annotations', 'logprobs'],
  ],
  ResponseFunctionToolCall: [
    (member) => ({ input: [ASKED, { ...CALL, ...member }, RESULT] }),
    ['id', 'status', 'async', 'caller', 'call_id'],
  ],
  ResponseCustomToolCall: [
    (member) => ({ input: [ASKED, { ...CUSTOM, ...member }, { ...RESULT, type: 'custom_tool_call_output' }] }),
    ['id', 'async', 'caller', 'call_id'],
  ],
  ResponseReasoningItem: [
    (member) => ({ input: [ASKED, { type: 'reasoning', summary: [], ...member }, CALL, RESULT] }),
    ['id', 'status', 'content', 'summary'],
  ],
}

const SOURCE = { type: 'base64', media_type: 'image/png', data: 'AA==' }
const PDF = { type: 'base64', media_type: 'application/pdf', data: 'AA==' }
const USE = { type: 'tool_use', id: 't', name: 'f', input: {} }
const USED = { type: 'tool_result', tool_use_id: 't', content: 'y' }
const block = (given: Request): Request => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, given] }],
})
const inLoop = (use: Request, result: Request): Request => ({
  messages: [
    ASKED,
    { role: 'assistant', content: [{ ...USE, ...use }] },
    { role: 'user', content: [{ ...USED, ...result }] },
  ],
})

const OF_MESSAGES: Record<string, [WithMember, string[]?]> = {
  MessageCreateParamsBase: [(member) => member, ['model', 'stream', 'messages']],
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
  temperature: 0.5,
  thinking: { type: 'enabled', budget_tokens: 4_096 },
  top_p: 0.5,
  truncation: 'auto',
  metadata: { user_id: 'u' },
}
/** What the request must hold so that the member says something. */
const BESIDE: Record<string, Request> = {
  parallel_tool_calls: { tools: [{ type: 'function', name: 'f' }] },
  tool_choice: { tools: [{ type: 'function', name: 'f' }] },
}
const CHOICES: Record<string, unknown> = { responses: 'required', messages: { type: 'any' } }

function write(dialect: Dialect, request: Request): { sent: string; dropped: string[] } | 'refused' {
  try {
    const body = Buffer.from(JSON.stringify(request))
    const question = {
      kind: 'chat' as const,
      body,
      model: 'claude-sonnet-4-6',
      stream: false,
      maxTokens: 9_000,
      form: [],
    }
    const written = dialect.request(question)
    return { sent: written.body.toString(), dropped: written.dropped }
  } catch (fault) {
    if (fault instanceof BackendFault) return 'refused'
    throw fault
  }
}

function valueOf(client: string, owner: string, member: string): unknown {
  if (owner === 'CustomTool' && member === 'format') return { type: 'grammar', syntax: 'lark', definition: 'd' }
  if (member === 'tool_choice') return CHOICES[client]
  if (member === 'tools')
    return [client === 'responses' ? { type: 'function', name: 'z' } : { name: 'z', input_schema: SCHEMA }]
  return VALUES[member] ?? 'another value'
}

describe.each<[string, string, Dialect, string, Record<string, [WithMember, string[]?]>, Request]>([
  ['responses', 'chat', overChat(responsesFront, openai), OPENAI, OF_RESPONSES, { input: 'x' }],
  ['responses', 'messages', overChat(responsesFront, anthropic), OPENAI, OF_RESPONSES, { input: 'x' }],
  ['messages', 'chat', overChat(messagesFront, openai), ANTHROPIC, OF_MESSAGES, { max_tokens: 9, messages: [ASKED] }],
])('of a request in %s for a backend of %s', (client, _, dialect, types, owners, base) => {
  test.each(Object.entries(owners))('no member of %s is lost and not told', (owner, [withMember, silent = []]) => {
    const members = membersOf(types, owner).filter((name) => name !== 'type' && !silent.includes(name))
    const lost = members.filter((name) => {
      const request = (member: Request) => ({ ...base, ...BESIDE[name], ...withMember(member) })
      const without = write(dialect, request({}))
      const written = write(dialect, request({ [name]: valueOf(client, owner, name) }))
      if (written === 'refused' || without === 'refused') return written !== 'refused'
      return written.sent === without.sent && written.dropped.length === without.dropped.length
    })
    expect(lost).toEqual([])
  })
})
