/**
 * Clients distinguish kinds of objects by the beginning of an id. So every response has the beginning of its client's dialect, even where the
 * backend named it otherwise. It has one id from its first event to its last.
 */

import fc from 'fast-check'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { createSseParser } from '@gateway/sse/parse-events'
import { dialectRoute } from './dialects.ts'

type Json = Record<string, unknown>

const PREFIXES: Record<ClientDialect, string> = { chat: 'chatcmpl-', responses: 'resp_', messages: 'msg_' }
const PAIRS = clientDialects.flatMap((client) => targetDialects.map((target) => [client, target] as const))
const USAGE = { promptTokens: 1, completionTokens: 2, cachedTokens: 0, reasoningTokens: 0, estimated: true }

function responseBy(target: TargetDialect, id: unknown): { plain: Json; events: Json[] } {
  switch (target) {
    case 'chat': {
      const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }
      const chunk = { id, object: 'chat.completion.chunk', created: 1, model: 'm' }
      return {
        plain: { id, object: 'chat.completion', created: 1, model: 'm', choices: [choice] },
        events: [
          { ...chunk, choices: [{ index: 0, delta: { content: `"id":${JSON.stringify(id)}` }, finish_reason: null }] },
          { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
          { ...chunk, choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } },
        ],
      }
    }
    case 'responses': {
      const content = [{ type: 'output_text', text: 'Hi', annotations: [] }]
      const item = { type: 'message', id: 'msg_x', role: 'assistant', status: 'completed', content }
      const response = { id, object: 'response', created_at: 1, status: 'completed', model: 'm', output: [item] }
      return {
        plain: response,
        events: [
          { type: 'response.created', response: { ...response, output: [] } },
          { type: 'response.output_text.delta', item_id: 'msg_x', output_index: 0, content_index: 0, delta: 'Hi' },
          { type: 'response.completed', response },
        ],
      }
    }
    case 'messages': {
      const message = { id, type: 'message', role: 'assistant', model: 'm', stop_sequence: null }
      const usage = { input_tokens: 1, output_tokens: 2 }
      const content = [{ type: 'text', text: 'Hi' }]
      return {
        plain: { ...message, content, stop_reason: 'end_turn', usage },
        events: [
          { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
          { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
          { type: 'content_block_stop', index: 0 },
          { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
          { type: 'message_stop' },
        ],
      }
    }
  }
}

const REQUESTS: Record<ClientDialect, Json> = {
  chat: { messages: [{ role: 'user', content: 'x' }] },
  responses: { input: 'x' },
  messages: { max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
}

function opened(client: ClientDialect, target: TargetDialect) {
  const { dialect } = dialectRoute(client, [target])
  const body = Buffer.from(JSON.stringify(REQUESTS[client]))
  const clientRequest = { kind: 'chat' as const, body, model: 'm', stream: true, maxTokens: undefined, form: [] }
  const identity = { id: `${PREFIXES[client]}own`, created: 1, model: 'm' }
  return { dialect, identity, echo: dialect.request(clientRequest).echo }
}

function idsOfStream(client: ClientDialect, target: TargetDialect, events: Json[]): unknown[] {
  const { dialect, identity, echo } = opened(client, target)
  const reading = dialect.readStream({ includeUsage: true, choices: 1, identity, echo })
  const bytes = events.map(
    ({ type, ...rest }) =>
      `${typeof type === 'string' ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...rest })}\n\n`,
  )
  const read = createSseParser()
    .push(Buffer.from(bytes.join('')))
    .map((event) => reading.read(event))
  const sent = Buffer.concat([...read, reading.usageChunk(USAGE)].flatMap((written) => written ?? []))
  const seen = createSseParser()
    .push(sent)
    .map(({ data }) => JSON.parse(data) as Json)
  if (client === 'chat') return seen.map(({ id }) => id)
  return seen.flatMap((event) =>
    [event.response, event.message].flatMap((owner) => (owner ? [(owner as Json).id] : [])),
  )
}

const id = fc.oneof(
  fc.constantFrom<unknown>('chatcmpl-1', 'msg_1', 'resp_1', 'gen-17', 'cmpl-5', '', null, undefined, 'c"4\\', 'ü'),
  fc.string(),
)

describe.each(PAIRS)('for a client of %s at a backend of %s', (client, target) => {
  test('a plain response has an id of the dialect', () => {
    fc.assert(
      fc.property(id, (given) => {
        const { dialect, identity, echo } = opened(client, target)
        const bytes = Buffer.from(JSON.stringify(responseBy(target, given).plain))
        const reply = JSON.parse(dialect.readBackendResponse('chat', bytes, identity, echo).bytes.toString()) as Json
        expect(reply.id).toMatch(new RegExp(`^${PREFIXES[client]}.`))
      }),
    )
  })

  test('a stream has one id of the dialect', () => {
    fc.assert(
      fc.property(id, (given) => {
        const ids = idsOfStream(client, target, responseBy(target, given).events)
        expect(ids[0]).toMatch(new RegExp(`^${PREFIXES[client]}.`))
        expect(new Set(ids).size).toBe(1)
      }),
    )
  })

  test('an id that is of the dialect already stays', () => {
    const given = `${PREFIXES[client]}17`
    const ids = idsOfStream(client, target, responseBy(target, given).events)
    // Where one of both is a response, the gateway names the response.
    if ((client === 'responses') === (target === 'responses')) expect(ids[0]).toBe(given)
  })
})
