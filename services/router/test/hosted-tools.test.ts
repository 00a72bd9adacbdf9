/**
 * The class of tools that a vendor runs. A client may write any types and members, and only those that the price covers
 * reach a backend, with a limit. The client hears of all others.
 */

import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { good, routerOver } from './dialect-backends.ts'
import { event, openStream, sendJson } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { MESSAGE } from './targets/messages.ts'
import { RESPONSE } from './targets/responses.ts'

const OWN = {
  responses: [
    { type: 'function', name: 'look', parameters: {}, strict: false },
    { type: 'custom', name: 'patch' },
    { type: 'local_shell' },
    { type: 'tool_search', execution: 'client' },
    { type: 'shell', environment: { type: 'local' } },
  ],
  messages: [
    { name: 'look', input_schema: { type: 'object' } },
    { type: 'custom', name: 'patch', input_schema: { type: 'object' } },
    { type: 'bash_20250124', name: 'bash' },
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
  ],
} satisfies Partial<Record<ClientDialect, object[]>>

/** The types of `openai` 7.55 and `@anthropic-ai/sdk` 1.12 (2026), and others that nobody knows yet. */
const HOSTED = {
  responses: [
    ...['web_search', 'web_search_2025_08_26', 'web_search_preview', 'file_search', 'code_interpreter', 'mcp'],
    ...['image_generation', 'programmatic_tool_calling', 'tool_search', 'shell', 'x_search', 'openrouter:web_search'],
  ],
  messages: [
    ...['web_search_20250305', 'web_search_20260318', 'web_fetch_20250910', 'code_execution_20260521', 'mcp_toolset'],
    ...['tool_search_tool_bm25_20251119', 'advisor_20260301', 'web_search_29990101', 'openrouter:web_search'],
  ],
}

interface Tool {
  type?: string
  name?: string
  max_uses?: number
}

const hostedTool = (dialect: 'responses' | 'messages') =>
  fc
    .tuple(
      fc.oneof(
        fc.constantFrom(...HOSTED[dialect]),
        fc.string({ minLength: 1, maxLength: 12 }).map((t) => `x_${t}`),
      ),
      fc.option(fc.nat(50), { nil: undefined }),
    )
    .map(([type, max_uses]): Tool => ({
      type,
      name: type.replace(/_\d+$/, ''),
      ...(dialect === 'messages' && max_uses !== undefined ? { max_uses } : {}),
      // Everything that a shell runs in but the client's own computer is the vendor's.
      ...(type === 'shell' ? { environment: { type: 'container_auto' } } : {}),
    }))

const toolsOf = (dialect: 'responses' | 'messages') =>
  fc.array(fc.oneof(fc.constantFrom<Tool>(...OWN[dialect]), hostedTool(dialect)), { maxLength: 5 })

const isOwn = (dialect: 'responses' | 'messages', tool: Tool) =>
  OWN[dialect].some((own) => JSON.stringify(own) === JSON.stringify(tool))

test.each(['responses', 'messages'] as const)(
  'of the tools in a %s request none that the vendor runs leaves without a price and a limit, and all others are named',
  async (dialect) => {
    const { opened, sendRequest } = await routerOver(dialect, [[dialect, good(dialect)]])
    const calls = fc.record({ web_search: fc.nat(9), web_fetch: fc.nat(9), mcp: fc.nat(9) }, { requiredKeys: [] })
    await fc.assert(
      fc.asyncProperty(toolsOf(dialect), calls, fc.boolean(), async (tools, allowed, isStated) => {
        const total = Object.values(allowed).reduce((sum, one) => sum + one, 0)
        const header = isStated ? { asksHostedTools: true, hostedTools: { calls: allowed, total } } : {}
        const job = await sendRequest(false, { tools }, header)
        expect(job.end).toBeDefined()
        const sent = opened[0]!.seen.at(-1)!.body as { tools?: Tool[]; max_tool_calls?: number }
        const left = sent.tools ?? []
        const hosted = left.filter((tool) => !isOwn(dialect, tool))
        // The client's own tools go on, in their order.
        expect(left.filter((tool) => isOwn(dialect, tool))).toEqual(tools.filter((tool) => isOwn(dialect, tool)))
        const named = new Set(job.head?.droppedParams ?? [])
        for (const tool of tools) {
          const stays = isOwn(dialect, tool) || hosted.some(({ type }) => type === tool.type)
          expect(stays || named.has(`tools.${encodeURIComponent(tool.type!)}`)).toBe(true)
        }
        if (!isStated) expect(hosted).toEqual([])
        if (dialect === 'responses' && hosted.length > 0) expect(sent.max_tool_calls).toBe(total)
        if (dialect === 'messages') {
          const most = hosted.reduce((sum, { max_uses = Infinity }) => sum + max_uses, 0)
          expect(most).toBeLessThanOrEqual(total)
        }
      }),
      { numRuns: 60 },
    )
  },
)

test.each<[ClientDialect & ('responses' | 'messages'), object]>([
  ['responses', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
  ['responses', { tools: [{ type: 'web_search' }], tool_choice: 'required' }],
  [
    'responses',
    {
      tools: [...OWN.responses, { type: 'mcp', server_label: 's' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'mcp', server_label: 's' }] },
    },
  ],
  [
    'messages',
    { tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'tool', name: 'web_search' } },
  ],
  ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search' }], tool_choice: { type: 'any' } }],
])('a %s request that demands a tool which stays behind is refused: %j', async (dialect, body) => {
  const { opened, sendRequest } = await routerOver(dialect, [[dialect, good(dialect)]])
  const { failure } = await sendRequest(false, body)
  expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
  expect(JSON.parse(failure!.backendBody!)).toMatchObject({ error: { param: 'tool_choice' } })
  expect(opened[0]!.seen).toHaveLength(0)
})

test('tools that an item adds in the middle of a conversation, and prompts that the vendor stores, are no way around', async () => {
  const { opened, sendRequest } = await routerOver('responses', [['responses', good('responses')]])
  const added = { type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }, OWN.responses[0]] }
  const allowed = { asksHostedTools: true, hostedTools: { calls: { web_search: 5 }, total: 5 } }
  const job = await sendRequest(false, { input: [{ role: 'user', content: 'x' }, added] }, allowed)
  expect(job.head?.droppedParams).toEqual(['tools.web_search'])
  expect(opened[0]!.seen[0]!.body).toMatchObject({ input: [{}, { tools: [OWN.responses[0]] }] })
  const { failure } = await sendRequest(false, { prompt: { id: 'pmpt_1' } })
  expect(JSON.parse(failure!.backendBody!)).toMatchObject({ error: { param: 'prompt' } })
})

test('a larger container, or one of the client’s own, has another price and stays behind', async () => {
  const { opened, sendRequest } = await routerOver('responses', [['responses', good('responses')]])
  const allowed = { asksHostedTools: true, hostedTools: { calls: { code_interpreter: 5 }, total: 5 } }
  const containers = [
    { type: 'auto' },
    { type: 'auto', memory_limit: '1g' },
    { type: 'auto', memory_limit: '4g' },
    'cntr_1',
  ]
  for (const container of containers)
    await sendRequest(false, { tools: [{ type: 'code_interpreter', container }] }, allowed)
  expect(opened[0]!.seen.map(({ body }) => (body['tools'] as object[] | undefined)?.length ?? 0)).toEqual([1, 1, 0, 0])
})

const RESPONSES = { messages: MESSAGE, responses: RESPONSE }
const CALLED = [
  { type: 'web_search_call', id: 'w1', status: 'completed', action: { type: 'search', query: 'q' } },
  { type: 'web_search_call', id: 'w2', status: 'completed', action: { type: 'open_page', url: 'u' } },
  { type: 'code_interpreter_call', id: 'chatcmpl-1', status: 'completed', container_id: 'k' },
]
const complete = { ...RESPONSE, output: [...CALLED, ...RESPONSE.output] }
const sse = (one: { type: string }) => `event: ${one.type}\n${event(one)}`

test('calls of a vendor’s tools are counted in a plain response and in a stream, and in one that breaks off', async () => {
  const { sendRequest } = await routerOver('responses', [
    [
      'responses',
      (response, { body }, socket) => {
        if (body['stream'] !== true) return sendJson(response, 200, complete)
        openStream(response)
        const done = CALLED.map((item) => sse({ type: 'response.output_item.done', item } as { type: string }))
        const said = sse({ type: 'response.output_text.delta', delta: 'Hello' } as { type: string })
        const end = sse({
          type: 'response.completed',
          response: { ...complete, tool_usage: { web_search: { num_requests: 3 } } },
        } as { type: string })
        if (body['metadata'] !== undefined)
          return void response.write(done.join('') + said, () => setTimeout(() => socket.destroy(), 20))
        response.end(done.join('') + said + end)
      },
    ],
  ])
  const counted = { web_search: 1, code_interpreter: 1 }
  expect((await sendRequest(false)).end!.usage).toMatchObject({ toolCalls: counted, estimated: false })
  expect((await sendRequest(true)).end!.usage).toMatchObject({
    toolCalls: { ...counted, web_search: 3 },
    estimated: false,
  })
  expect((await sendRequest(true, { metadata: { broken: 'yes' } })).failure!.usage).toMatchObject({
    toolCalls: counted,
    estimated: true,
  })
})

test('searches of the Messages API are counted in a stream, also in one that breaks off', async () => {
  const block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
  const { sendRequest } = await routerOver('messages', [
    [
      'messages',
      (response, { body }, socket) => {
        openStream(response)
        const start = {
          type: 'message_start',
          message: { ...MESSAGE, content: [], usage: { input_tokens: 9, output_tokens: 1 } },
        }
        const searched = { type: 'content_block_start', index: 0, content_block: block }
        const usage = { output_tokens: 3, server_tool_use: { web_search_requests: 2, web_fetch_requests: 0 } }
        const end = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }, { type: 'message_stop' }]
        if (body['max_tokens'] === 7)
          return response.write([start, searched].map(sse).join(''), () => setTimeout(() => socket.destroy(), 20))
        response.end([start, searched, ...end].map(sse).join(''))
      },
    ],
  ])
  expect((await sendRequest(true)).end!.usage).toMatchObject({ toolCalls: { web_search: 2 } })
  expect((await sendRequest(true, { max_tokens: 7 })).failure!.usage).toMatchObject({ toolCalls: { web_search: 1 } })
})

test.each([
  ['messages', RESPONSES.messages],
  ['responses', RESPONSES.responses],
] as const)(
  'a chat before a backend that speaks %s goes on without the tools that the vendor would run, and its client is informed',
  async (dialect, reply) => {
    const a = await backend((response) => sendJson(response, 200, reply))
    const settings = { dialect: dialect === 'messages' ? 'anthropic' : 'openai', dialects: [dialect] }
    const running = await router(poolOver([a.url], { backend: settings }))
    const own = { type: 'function', function: { name: 'look', parameters: {} } }
    const options = {
      web_search_options: {},
      plugins: [{ id: 'web' }],
      tools: [own, { type: 'openrouter:web_search' }],
    }
    const job = await running.sendRequest({}, { messages: [{ role: 'user', content: 'x' }], ...options })
    expect(job.end).toBeDefined()
    const escaped = job.head?.droppedParams?.map(decodeURIComponent)
    expect(escaped?.toSorted()).toEqual(['plugins', 'tools.openrouter:web_search', 'web_search_options'])
    expect(a.seen[0]!.body['tools']).toHaveLength(1)
  },
)
