/** OpenAI's chat completions (the types of `openai` 7.57, 2026), strict about the order of calls and their results. */

import { newId, textsOf, type Json, type Reply, type Wire } from './wire.ts'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool'])
const NAMED = { created: 1, model: 'scripted' }

export const chatWire: Wire = {
  read(path, body) {
    if (path !== '/chat/completions') return `no path ${path}`
    const messages = body.messages as Json[]
    if (!Array.isArray(messages) || messages.length === 0) return 'messages must not be empty'
    const fault = faultOf(messages)
    if (fault !== null) return fault
    const tools = ((body.tools ?? []) as Json[]).map(({ function: own }) => String((own as Json | undefined)?.name))
    return {
      texts: messages.flatMap(({ content }) => textsOf(content)),
      tools,
      stream: body.stream === true,
      isCompaction: false,
    }
  },
  complete(reply) {
    const message = { role: 'assistant', content: reply.text ?? null, ...callsOf(reply) }
    const choices = [{ index: 0, message, finish_reason: finishOf(reply) }]
    return { id: newId('chatcmpl-'), ...NAMED, object: 'chat.completion', choices, usage: usageOf(reply) }
  },
  events(reply) {
    const { event, chunk } = writerOf(newId('chatcmpl-'))
    const deltas = [
      { role: 'assistant', content: '' },
      ...(reply.text === undefined ? [] : [{ content: reply.text }]),
      ...('tool_calls' in callsOf(reply) ? [callsOf(reply)] : []),
    ]
    return {
      begin: deltas.map((delta) => chunk(delta)),
      end: [chunk({}, finishOf(reply)), event({ choices: [], usage: usageOf(reply) }), 'data: [DONE]\n\n'],
    }
  },
  piece: (text) => writerOf('chatcmpl-endless').chunk({ content: text }),
  refusal: (message) => ({ error: { message, type: 'invalid_request_error' } }),
}

function faultOf(messages: Json[]): string | null {
  let open = new Set<unknown>()
  for (const message of messages) {
    const role = String(message.role)
    if (!ROLES.has(role)) return `no role ${role}`
    if (role !== 'tool' && open.size > 0) return 'a call has no result'
    if (role === 'tool' && !open.delete(message.tool_call_id)) return 'a result has no call'
    if (message.tool_calls !== undefined) open = new Set((message.tool_calls as Json[]).map(({ id }) => id))
  }
  return open.size > 0 ? 'a call has no result' : null
}

/** Agents know a response by its id. */
function writerOf(id: string) {
  const base = { id, ...NAMED, object: 'chat.completion.chunk' }
  const event = (value: Json) => `data: ${JSON.stringify({ ...base, ...value })}\n\n`
  const chunk = (delta: Json, end: string | null = null) =>
    event({ choices: [{ index: 0, delta, finish_reason: end }] })
  return { event, chunk }
}

const finishOf = ({ call }: Reply) => (call ? 'tool_calls' : 'stop')

function callsOf({ call }: Reply): Json {
  if (call === undefined) return {}
  const own = { name: call.name, arguments: JSON.stringify(call.args) }
  return { tool_calls: [{ index: 0, id: newId('call_'), type: 'function', function: own }] }
}

function usageOf({ promptTokens, completionTokens }: Reply): Json {
  const total = promptTokens + completionTokens
  return { prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: total }
}
