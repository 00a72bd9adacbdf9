/**
 * The same response as backends of every dialect give it, and clients of the Responses and the Messages API in front of
 * them.
 */

import type { JobHeader } from '@gateway/contracts/job'
import type { ClientDialect } from '@gateway/contracts/vendors'
import type { FakeJob } from './fake-job.ts'
import { chunk, completion, event, openStream, ROLE, sendJson, completeStream, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const text = (said: string) => ({ type: 'output_text', text: said, annotations: [] })
const ITEM = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' }
export const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  background: false,
  completed_at: 2,
  error: null,
  frequency_penalty: 0,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  model: 'backend-model',
  output: [{ ...ITEM, content: [text('Hello there')] }],
  parallel_tool_calls: true,
  presence_penalty: 0,
  previous_response_id: null,
  prompt_cache_key: null,
  reasoning: null,
  safety_identifier: null,
  service_tier: 'default',
  store: false,
  temperature: 1,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: 'disabled',
  usage: {
    input_tokens: 9,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 12,
  },
}
const OF_TEXT = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const RESPONSE_EVENTS = {
  role: [
    { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: { ...ITEM, content: [] } },
  ],
  content: [
    { type: 'response.content_part.added', ...OF_TEXT, part: text('') },
    { type: 'response.output_text.delta', ...OF_TEXT, delta: 'Hello', logprobs: [] },
  ],
  end: [
    { type: 'response.output_item.done', output_index: 0, item: RESPONSE.output[0] },
    { type: 'response.completed', response: RESPONSE },
  ],
}

export const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'backend-model',
  content: [{ type: 'text', text: 'Hello there' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 3 },
}
const MESSAGE_EVENTS = {
  role: [{ type: 'message_start', message: { ...MESSAGE, content: [], usage: { input_tokens: 9, output_tokens: 1 } } }],
  content: [
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  ],
  end: [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ],
}

interface Event {
  type: string
  [member: string]: unknown
}

/** `number`: as the Responses API does. */
function written(events: Event[], number: boolean): string {
  return events
    .map((one, at) => `event: ${one.type}\n${event(number ? { ...one, sequence_number: at } : one)}`)
    .join('')
}

interface Written {
  plain: object
  /** A stream that has begun without content. */
  role: string
  /** Up to its first content. */
  content: string
  complete: string
  /** A failure before content. */
  failed: string
}

function writtenBy(plain: object, { role, content, end }: Record<'role' | 'content' | 'end', Event[]>, failure: Event) {
  const write = (...parts: Event[][]) => written(parts.flat(), plain === RESPONSE)
  return {
    plain,
    role: write(role),
    content: write(role, content),
    complete: write(role, content, end),
    failed: write(role, [failure]),
  }
}

const OVERLOADED = { type: 'error', error: { type: 'overloaded_error', message: 'no' } }
const FAILED = { ...RESPONSE, status: 'failed', output: [], error: { code: 'server_error', message: 'no' } }
export const WRITTEN: Record<ClientDialect, Written> = {
  chat: {
    plain: completion(),
    role: ROLE,
    content: ROLE + chunk({ content: 'Hello' }),
    complete: completeStream(),
    failed: ROLE + event(OVERLOADED),
  },
  responses: writtenBy(RESPONSE, RESPONSE_EVENTS, { type: 'response.failed', response: FAILED }),
  messages: writtenBy(MESSAGE, MESSAGE_EVENTS, OVERLOADED),
}

export function good(dialect: ClientDialect): Reply {
  const { plain, complete } = WRITTEN[dialect]
  return (response, { body }) => {
    if (body['stream'] !== true) return sendJson(response, 200, plain)
    openStream(response)
    response.end(complete)
  }
}

export function broken(dialect: ClientDialect, after: 'role' | 'content'): Reply {
  const { plain } = WRITTEN[dialect]
  return (response, { body }, socket) => {
    if (body['stream'] !== true) return response.end(JSON.stringify(plain).slice(0, 40))
    openStream(response)
    response.write(WRITTEN[dialect][after], () => setTimeout(() => socket.destroy(), 20))
  }
}

export type Client = Exclude<ClientDialect, 'chat'>
const REQUESTS = {
  responses: { header: {}, body: { input: 'Say hello', store: false } },
  messages: {
    header: { anthropicVersion: '2024-01-01', anthropicBeta: 'theirs' },
    body: { max_tokens: 50, messages: [{ role: 'user', content: 'Say hello' }] },
  },
}

export async function routerOver(client: Client, backends: [dialect: ClientDialect, reply: Reply][], areEqual = false) {
  const opened = await Promise.all(backends.map(([, reply]) => backend(reply)))
  const settings = backends.map(([dialect]) => ({
    dialect: dialect === 'messages' ? 'anthropic' : 'openai',
    dialects: [dialect],
    headers: { 'anthropic-beta': 'ours' },
  }))
  const targets = areEqual ? backends.map(() => ({ priority: 1 })) : []
  const urls = opened.map(({ url }) => url)
  const running = await router(poolOver(urls, { backends: settings, targets }))
  const { header, body: requested } = REQUESTS[client]
  const sendRequest = (stream: boolean, body: object = {}, headerChanges: Partial<JobHeader> = {}) =>
    running.sendRequest(
      { dialect: client, includeUsage: true, ...header, stream, ...headerChanges },
      { ...requested, ...body },
    )
  return { opened, sendRequest }
}

export interface StreamEvent {
  type: string
  sequence_number?: number
  usage?: object
  response?: typeof RESPONSE
}

export function eventsOf(job: FakeJob): StreamEvent[] {
  const blocks = job
    .text()
    .split('\n\n')
    .filter((block) => block !== '')
  return blocks.map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)) as StreamEvent)
}
