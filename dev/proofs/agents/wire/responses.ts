/** OpenAI's Responses API (the types of `openai` 7.57, 2026), with its compaction, strict about calls and their results. */

import { newId, textsOf, type Json, type Reply, type Wire } from './wire.ts'

export const responsesWire: Wire = {
  read(path, body) {
    if (path !== '/responses' && path !== '/responses/compact') return `no path ${path}`
    const input = (typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input) as Json[]
    if (!Array.isArray(input) || input.length === 0) return 'input must not be empty'
    const calls = new Set(input.filter(({ type }) => isCall(type)).map(({ call_id: id }) => id))
    const results = input.filter(({ type }) => isResult(type))
    if (results.some(({ call_id: id }) => !calls.delete(id))) return 'No tool call found for function call output'
    if (calls.size > 0) return 'No tool output found for function call'
    const tools = ((body.tools ?? []) as Json[]).map(({ name, type }) => String(name ?? type))
    const texts = [...textsOf(body.instructions), ...input.flatMap(textsOfItem)]
    const isCompaction = path.endsWith('/compact') || input.some(({ type }) => type === 'compaction_trigger')
    return { texts, tools, stream: body.stream === true, isCompaction }
  },
  complete(reply, body, path) {
    if (!path.endsWith('/compact')) return { ...response(reply, 'completed'), output: itemsOf(reply, body) }
    const output = [compactionItem(reply)]
    return { id: newId('resp_'), object: 'response.compaction', created_at: 1, output, usage: usageOf(reply) }
  },
  events(reply, body) {
    const items = reply.endless ? [textItem('')] : itemsOf(reply, body)
    const number = numbered()
    const id = newId('resp_')
    const begun = { ...response(reply, 'in_progress'), id }
    const begin = [
      number('response.created', { response: begun }),
      number('response.in_progress', { response: begun }),
      ...items.flatMap((item, index) => itemEvents(item, index, number, reply.endless === true)),
    ]
    const end = [number('response.completed', { response: { ...response(reply, 'completed'), id, output: items } })]
    return { begin, end }
  },
  piece: (text) => event('response.output_text.delta', { ...AT, delta: text, logprobs: [], sequence_number: 99 }),
  refusal: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
}

const isCall = (type: unknown) => type === 'function_call' || type === 'custom_tool_call'
const isResult = (type: unknown) => type === 'function_call_output' || type === 'custom_tool_call_output'

function textsOfItem({ content, output, encrypted_content: sealed, type }: Json): string[] {
  if (type === 'compaction' && typeof sealed === 'string') return [sealed]
  return [...textsOf(content), ...textsOf(output)]
}

const AT = { item_id: 'msg_1', output_index: 0, content_index: 0 }
const event = (type: string, more: Json) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

type Write = (type: string, more: Json) => string
function numbered(): Write {
  let number = 0
  return (type, more) => event(type, { ...more, sequence_number: number++ })
}

function usageOf({ promptTokens, completionTokens }: Reply): Json {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: promptTokens + completionTokens,
  }
}

function response(reply: Reply, status: string): Json {
  const base = { id: newId('resp_'), object: 'response', created_at: 1, status, model: 'scripted', output: [] }
  return {
    ...base,
    ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, parallel_tool_calls: true },
    ...{ temperature: 1, tool_choice: 'auto', tools: [], top_p: 1, store: false },
    usage: status === 'completed' ? usageOf(reply) : null,
  }
}

function textItem(text: string): Json {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { type: 'message', id: newId('msg_'), role: 'assistant', status: 'completed', content }
}

function compactionItem({ text = '' }: Reply): Json {
  return { type: 'compaction', id: newId('cmp_'), encrypted_content: text }
}

function itemsOf(reply: Reply, { input }: Json): Json[] {
  const wantsCompaction = Array.isArray(input) && (input as Json[]).some(({ type }) => type === 'compaction_trigger')
  if (wantsCompaction) return [compactionItem(reply)]
  const { text, call } = reply
  const own = call && { name: call.name, arguments: JSON.stringify(call.args), call_id: newId('call_') }
  return [
    ...(text === undefined ? [] : [textItem(text)]),
    ...(own ? [{ type: 'function_call', id: newId('fc_'), status: 'completed', ...own }] : []),
  ]
}

function itemEvents(item: Json, index: number, write: Write, staysOpen: boolean): string[] {
  const at = { item_id: item.id, output_index: index }
  if (item.type === 'message') {
    const part = (item.content as Json[])[0]!
    const empty = { ...part, text: '' }
    const start = [
      write('response.output_item.added', {
        output_index: index,
        item: { ...item, status: 'in_progress', content: [] },
      }),
      write('response.content_part.added', { ...at, content_index: 0, part: empty }),
    ]
    if (staysOpen) return start
    return [
      ...start,
      write('response.output_text.delta', { ...at, content_index: 0, delta: part.text, logprobs: [] }),
      write('response.output_text.done', { ...at, content_index: 0, text: part.text, logprobs: [] }),
      write('response.content_part.done', { ...at, content_index: 0, part }),
      write('response.output_item.done', { output_index: index, item }),
    ]
  }
  const started = item.type === 'function_call' ? { ...item, status: 'in_progress', arguments: '' } : item
  const deltas =
    item.type === 'function_call'
      ? [
          write('response.function_call_arguments.delta', { ...at, delta: item.arguments }),
          write('response.function_call_arguments.done', { ...at, arguments: item.arguments, name: item.name }),
        ]
      : []
  return [
    write('response.output_item.added', { output_index: index, item: started }),
    ...deltas,
    write('response.output_item.done', { output_index: index, item }),
  ]
}
