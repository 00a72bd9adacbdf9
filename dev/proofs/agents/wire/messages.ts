/** Anthropic's Messages API (the types of `@anthropic-ai/sdk` 1.12, 2026), strict about the order of calls and their results. */

import { newId, textsOf, type Json, type Reply, type Wire } from './wire.ts'

export const messagesWire: Wire = {
  read(path, body) {
    if (path.startsWith('/messages/count_tokens')) return 'count_tokens is not served'
    if (!path.startsWith('/messages')) return `no path ${path}`
    const messages = body.messages as Json[]
    if (!Array.isArray(messages) || messages.length === 0) return 'messages: must not be empty'
    if (typeof body.max_tokens !== 'number') return 'max_tokens: Field required'
    const fault = faultOf(messages)
    if (fault !== null) return fault
    const tools = ((body.tools ?? []) as Json[]).map(({ name }) => String(name))
    const texts = [...textsOf(body.system), ...messages.flatMap(({ content }) => textsOf(content))]
    return { texts, tools, stream: body.stream === true, isCompaction: false }
  },
  complete(reply) {
    return { ...message(), content: blocksOf(reply), stop_reason: stopOf(reply), usage: usageOf(reply) }
  },
  events(reply) {
    const blocks = reply.endless ? [{ type: 'text', text: '' }] : blocksOf(reply)
    const starts = blocks.flatMap((block, index) => blockEvents(block, index, reply.endless === true))
    const begun = { ...message(), content: [], stop_reason: null, usage: { ...usageOf(reply), output_tokens: 1 } }
    const delta = { stop_reason: stopOf(reply), stop_sequence: null }
    return {
      begin: [event('message_start', { message: begun }), ...starts],
      end: [
        ...(reply.endless ? [event('content_block_stop', { index: 0 })] : []),
        event('message_delta', { delta, usage: { output_tokens: reply.completionTokens } }),
        event('message_stop', {}),
      ],
    }
  },
  piece: (text) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  refusal: (said) => ({ type: 'error', error: { type: 'invalid_request_error', message: said } }),
}

function faultOf(messages: Json[]): string | null {
  let open = new Set<unknown>()
  for (const { role, content } of messages) {
    const blocks = Array.isArray(content) ? (content as Json[]) : []
    for (const block of blocks)
      if (block.type === 'tool_result' && !open.delete(block.tool_use_id)) return 'a tool_result has no tool_use'
    if (role === 'user' && open.size > 0) return 'a tool_use has no tool_result'
    if (role === 'assistant') open = new Set(blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id))
  }
  return open.size > 0 ? 'a tool_use has no tool_result' : null
}

const event = (type: string, more: Json) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const stopOf = ({ call }: Reply) => (call ? 'tool_use' : 'end_turn')
const usageOf = ({ promptTokens, completionTokens }: Reply) => ({
  input_tokens: promptTokens,
  output_tokens: completionTokens,
})

function message(): Json {
  return { id: newId('msg_'), type: 'message', role: 'assistant', model: 'scripted', stop_sequence: null }
}

function blocksOf({ text, call }: Reply): Json[] {
  return [
    ...(text === undefined ? [] : [{ type: 'text', text }]),
    ...(call === undefined ? [] : [{ type: 'tool_use', id: newId('toolu_'), name: call.name, input: call.args }]),
  ]
}

function blockEvents(block: Json, index: number, staysOpen: boolean): string[] {
  const isText = block.type === 'text'
  const start = isText ? { ...block, text: '' } : { ...block, input: {} }
  const delta = isText
    ? { type: 'text_delta', text: block.text }
    : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) }
  return [
    event('content_block_start', { index, content_block: start }),
    ...(staysOpen ? [] : [event('content_block_delta', { index, delta }), event('content_block_stop', { index })]),
  ]
}
