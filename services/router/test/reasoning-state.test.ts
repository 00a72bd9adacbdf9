/**
 * The state of a model's reasoning over HTTP, for clients of each dialect. A router restarts, secrets rotate, and another vendor's target
 * takes over. All generated conversations: `src/dialects/reasoning-state.test.ts`.
 */

import { randomBytes } from 'node:crypto'
import type { JobHeader } from '@gateway/contracts/job'
import type { TargetDialect, Vendor } from '@gateway/contracts/vendors'
import { expect, test } from 'vitest'
import type { FakeJob } from './fake-job.ts'
import { completion, sendJson, USAGE, type Reply, type SeenRequest } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

/** JSON of three APIs, whose members the assertions name. */
// oxlint-disable-next-line typescript/no-explicit-any
type Json = Record<string, any>

const secretOf = (masterKeyId: string) => ({ masterKeyId, secret: randomBytes(32).toString('base64url') })
const [OLD, NEW] = [secretOf('0123456789ab'), secretOf('ba9876543210')]
const TOKEN = /svc2\.[0-9a-f]{12}\.[\w-]+/

const THINKING = { type: 'thinking', thinking: 'Look first.', signature: 'EqQBCgIYAg==' }
const REASONING = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'Look first.' }],
  encrypted_content: 'gAAAAABo',
}
const SIGNATURE = { google: { thought_signature: 'CpIBAdHtim8=' } }

const claude: Reply = (response) =>
  sendJson(response, 200, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [THINKING, { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 9, output_tokens: 3 },
  })
const gpt: Reply = (response) =>
  sendJson(response, 200, {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'gpt',
    output: [REASONING, { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '{}' }],
    usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
  })
const gemini: Reply = (response) => {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: SIGNATURE }
  const message = { role: 'assistant', content: null, tool_calls: [call] }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  sendJson(response, 200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'g',
    choices,
    usage: USAGE,
  })
}

/** Google's address refuses members that it does not know (n4ze3m/page-assist#418, 2025-02-18). Others are assumed to. */
const strict =
  (...known: string[]): Reply =>
  (response, { body }) => {
    const turns = (body['messages'] as Json[]).filter(({ role }) => role === 'assistant')
    const members = turns.flatMap((turn) => [turn, ...((turn['tool_calls'] ?? []) as Json[])].flatMap(Object.keys))
    const unknown = members.find(
      (name) => !['role', 'content', 'tool_calls', 'id', 'type', 'function', ...known].includes(name),
    )
    if (unknown === undefined) return sendJson(response, 200, completion())
    return sendJson(response, 400, {
      error: { message: `Unknown parameter: '${unknown}'`, type: 'invalid_request_error' },
    })
  }
const DETAILS = [{ type: 'reasoning.encrypted', data: 'ZGV0YWls', id: 'd', format: 'anthropic-claude-v1', index: 0 }]
const openrouter: Reply = (response) => {
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
  const message = { role: 'assistant', content: null, reasoning_details: DETAILS, tool_calls: [call] }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  sendJson(response, 200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'o',
    choices,
    usage: USAGE,
  })
}

const VENDORS: Record<string, { vendor: Vendor; dialects: TargetDialect[]; model: string; reply: Reply }> = {
  claude: { vendor: 'anthropic', dialects: ['messages'], model: 'claude-sonnet-4-6', reply: claude },
  gpt: { vendor: 'openai', dialects: ['responses'], model: 'gpt-5.2', reply: gpt },
  gemini: { vendor: 'gemini', dialects: ['chat'], model: 'gemini-3-pro-preview', reply: gemini },
  openrouter: { vendor: 'openrouter', dialects: ['chat'], model: 'anthropic/claude-sonnet-4.6', reply: openrouter },
  'strict gpt': { vendor: 'openai', dialects: ['chat'], model: 'gpt-5.2', reply: strict() },
  'strict gemini': {
    vendor: 'gemini',
    dialects: ['chat'],
    model: 'gemini-3-pro-preview',
    reply: strict('extra_content'),
  },
}

/** Routers over the same backends. */
async function opened(...names: string[]) {
  const vendors = names.map((name) => VENDORS[name]!)
  const backends = await Promise.all(vendors.map(({ reply }) => backend(reply)))
  const settings = vendors.map(({ vendor, dialects }) => ({ vendor, dialects, apiKey: 'sk-test' }))
  const targets = vendors.map(({ model }) => ({ model }))
  const config = poolOver(
    backends.map(({ url }) => url),
    { backends: settings, targets },
  )
  const start = (...secrets: (typeof OLD)[]) =>
    router(config, {}, { stateSecrets: secrets.length > 0 ? { secrets } : 'away' })
  return { backends, start, last: (at = 0): SeenRequest => backends[at]!.seen.at(-1)! }
}

const LOOK = { name: 'look', parameters: { type: 'object', properties: {} } }
/** Clients of these dialects keep the state. */
type Client = 'chat' | 'responses' | 'messages'
const FIRST: Record<Client, Json> = {
  chat: { messages: [{ role: 'user', content: 'Go' }], tools: [{ type: 'function', function: LOOK }] },
  responses: { input: [{ role: 'user', content: 'Go' }], tools: [{ type: 'function', ...LOOK }] },
  messages: {
    max_tokens: 9_000,
    messages: [{ role: 'user', content: 'Go' }],
    thinking: { type: 'enabled', budget_tokens: 2_048 },
    tools: [{ name: 'look', input_schema: LOOK.parameters }],
  },
}

/** The client's next request, with the result of its tool. */
function next(dialect: Client, { text }: FakeJob): Json {
  const response = JSON.parse(text()) as Json
  const first = FIRST[dialect]
  if (dialect === 'responses') {
    const output = response['output'] as Json[]
    const { call_id } = output.find(({ type }) => type === 'function_call')!
    return { ...first, input: [...first['input'], ...output, { type: 'function_call_output', call_id, output: '72' }] }
  }
  if (dialect === 'messages') {
    const content = response['content'] as Json[]
    const result = {
      type: 'tool_result',
      tool_use_id: content.find(({ type }) => type === 'tool_use')!['id'],
      content: '72',
    }
    const turns = [
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ]
    return { ...first, messages: [...first['messages'], ...turns] }
  }
  const { content, tool_calls: calls } = response['choices'][0].message
  const own = (calls as Json[]).map(({ id, type, function: called }) => ({ id, type, function: called }))
  const turns = [
    { role: 'assistant', content, tool_calls: own },
    { role: 'tool', tool_call_id: own[0]!.id, content: '72' },
  ]
  return { ...first, messages: [...first['messages'], ...turns] }
}

const headerOf = (dialect: Client, account = 'acc'): Partial<JobHeader> => ({ dialect, account })

const STATES: [Client, string, (request: Json) => unknown, unknown][] = [
  ['chat', 'claude', ({ messages }) => messages[1].content[0], THINKING],
  ['responses', 'gemini', ({ messages }) => messages[1].tool_calls[0].extra_content, SIGNATURE],
  ['messages', 'gpt', ({ input }) => input[1], REASONING],
]

test.each(STATES)(
  'a %s client of %s gets its state kept by a router, and another router gives it back under rotated secrets',
  async (dialect, vendor, stateIn, state) => {
    const { start, last } = await opened(vendor)
    const first = await (await start(OLD)).sendRequest(headerOf(dialect), FIRST[dialect])
    expect(first.text()).toMatch(TOKEN)
    const second = await (await start(NEW, OLD)).sendRequest(headerOf(dialect), next(dialect, first))
    expect(second.end).not.toBeNull()
    expect(stateIn(last().body)).toEqual(state)
    expect(last().text).not.toMatch(TOKEN)
  },
)

test.each(STATES)(
  'a state of a %s client of %s is refused where it is forged or of another account',
  async (dialect, vendor) => {
    const { start, backends } = await opened(vendor)
    const running = await start(OLD)
    const body = next(dialect, await running.sendRequest(headerOf(dialect), FIRST[dialect]))
    const other = await running.sendRequest(headerOf(dialect, 'another'), body)
    const [token] = TOKEN.exec(JSON.stringify(body))!
    const altered = token.slice(0, -9) + (token.at(-9) === 'A' ? 'B' : 'A') + token.slice(-8)
    const forged = JSON.parse(JSON.stringify(body).replaceAll(token, altered)) as Json
    for (const { failure } of [other, await running.sendRequest(headerOf(dialect), forged)]) {
      expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
      expect((JSON.parse(failure!.backendBody!) as Json).error.param).toMatch(/(?:id|encrypted_content|signature)$/)
    }
    expect(backends[0]!.seen).toHaveLength(1)
  },
)

test.each(STATES)(
  'without the secrets a %s client of %s has its responses, and its state is lost',
  async (dialect, vendor) => {
    const { start, last } = await opened(vendor)
    const kept = await (await start(OLD)).sendRequest(headerOf(dialect), FIRST[dialect])
    const away = await start()
    const first = await away.sendRequest(headerOf(dialect), FIRST[dialect])
    expect(first.end).not.toBeNull()
    expect(first.text()).not.toMatch(TOKEN)
    const second = await away.sendRequest(headerOf(dialect), next(dialect, kept))
    expect(second.end).not.toBeNull()
    expect(last().text).not.toMatch(TOKEN)
  },
)

test('a router that meets a state under a secret that it does not know yet fetches the secrets and opens it', async () => {
  const { start, last } = await opened('claude')
  const first = await (await start(NEW)).sendRequest(headerOf('chat'), FIRST.chat)
  const restarted = await start(NEW, OLD)
  const second = await restarted.sendRequest(headerOf('chat'), next('chat', first))
  expect(second.end?.attempts).toHaveLength(1)
  expect((last().body as Json)['messages'][1].content[0]).toEqual(THINKING)
})

test.each<[Client, string, string]>([
  ['messages', 'gemini', 'claude'],
  ['messages', 'gpt', 'claude'],
  ['responses', 'gemini', 'gpt'],
  ['chat', 'claude', 'gpt'],
  ['chat', 'claude', 'gemini'],
])('a %s client with a state of %s fails over to %s, which gets the text without it', async (dialect, from, to) => {
  const { start, backends, last } = await opened(from, to)
  const running = await start(OLD)
  const body = next(dialect, await running.sendRequest(headerOf(dialect), FIRST[dialect]))
  expect(JSON.stringify(body)).toMatch(TOKEN)
  backends[0]!.reply = (response) => sendJson(response, 500, { error: { message: 'no' } })
  const second = await running.sendRequest(headerOf(dialect), body)
  expect(second.end).not.toBeNull()
  const { text } = last(1)
  expect(text).not.toMatch(/svc\d\.|svc_state|svc_unsigned/)
  expect(text).toContain('72')
})

test.each([
  ['gemini', 'strict gpt'],
  ['openrouter', 'strict gpt'],
  ['openrouter', 'strict gemini'],
])(
  'a chat client that has kept all members of %s fails over to a %s, which gets none that it does not know',
  async (from, to) => {
    const { start, backends, last } = await opened(from, to)
    const running = await start(OLD)
    const first = JSON.parse((await running.sendRequest(headerOf('chat'), FIRST.chat)).text()) as Json
    const { message } = first['choices'][0] as Json
    const result = { role: 'tool', tool_call_id: message['tool_calls'][0].id, content: '72' }
    const body = { ...FIRST.chat, messages: [...FIRST.chat['messages'], message, result] }
    await running.sendRequest(headerOf('chat'), body)
    expect(last().text).toContain(from === 'gemini' ? SIGNATURE.google.thought_signature : DETAILS[0]!.data)
    backends[0]!.reply = (response) => sendJson(response, 500, { error: { message: 'no' } })
    const second = await running.sendRequest(headerOf('chat'), body)
    expect(second.failure).toBeNull()
    expect(second.head?.backend).toBe('b')
  },
)
