/** Anthropic's stand-in has replies of its own: its events are those of another dialect. */

import { sampleFromSchema } from '@gateway/stand-ins/json-sample'
import { openStream, sendJson, type Reply } from '../http-backend.ts'
import { COUNTED, TEXTS } from './reply-texts.ts'

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown }

/** A sample of the requested schema, a call of the first tool that has no result yet, or a text. */
export const replyWithMessages =
  (keepAlive: string): Reply =>
  (response, { body }) => {
    const block = blockFor(body as unknown as Messages)
    const stopReason = block.type === 'tool_use' ? 'tool_use' : 'end_turn'
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body['model'], stop_sequence: null }
    const usage = { input_tokens: COUNTED.prompt_tokens, output_tokens: COUNTED.completion_tokens }
    if (body['stream'] !== true)
      return sendJson(response, 200, { ...message, content: [block], stop_reason: stopReason, usage })
    openStream(response)
    const write = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
    const events = [
      write('message_start', { message: { ...message, content: [], stop_reason: null, usage } }),
      write('content_block_start', { index: 0, content_block: emptied(block) }),
      keepAlive,
      ...deltasOf(block).map((delta) => write('content_block_delta', { index: 0, delta })),
      write('content_block_stop', { index: 0 }),
      write('message_delta', { delta: { stop_reason: stopReason, stop_sequence: null }, usage }),
      write('message_stop', {}),
    ]
    response.end(events.join(''))
  }

interface Messages {
  messages: { content: string | { type: string }[] }[]
  tools?: { name: string; input_schema: object }[]
  output_config?: { format?: { schema: object } }
}

function blockFor({ messages, tools = [], output_config: output }: Messages): Block {
  const { content } = messages.at(-1)!
  const hasResult = Array.isArray(content) && content.some(({ type }) => type === 'tool_result')
  if (output?.format) return { type: 'text', text: JSON.stringify(sampleFromSchema(output.format.schema, 'Oslo')) }
  if (tools[0] === undefined || hasResult) return { type: 'text', text: TEXTS.join('') }
  const { name, input_schema: schema } = tools[0]
  return { type: 'tool_use', id: 'toolu_1', name, input: sampleFromSchema(schema, 'Oslo') }
}

function emptied(block: Block): Block {
  return block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} }
}

function deltasOf(block: Block): object[] {
  if (block.type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
  return (block.text.match(/.{1,4}/gs) ?? []).map((text) => ({ type: 'text_delta', text }))
}
