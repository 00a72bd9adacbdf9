/**
 * Reads a request to the Responses API as a chat request. As OpenAI's service does without a store, it keeps no items: a
 * result needs its call in the same input.
 */

import type { ChatRequest } from './chat-request.ts'
import { readChatRequest } from './chat-request.ts'
import { isObject, isString, type JsonObject, Refusal, required } from './refusal.ts'

/** Begins the content that a compaction of this backend holds, which it alone can read. */
export const COMPACTED = 'compacted:'

export function readResponsesRequest(body: JsonObject): ChatRequest {
  const { text, reasoning, tool_choice: choice } = body
  const format = isObject(text) ? text['format'] : undefined
  return readChatRequest({
    model: required(body, 'model', 'a string', isString),
    messages: readInput(body),
    max_completion_tokens: body['max_output_tokens'],
    temperature: body['temperature'],
    top_p: body['top_p'],
    parallel_tool_calls: body['parallel_tool_calls'],
    reasoning_effort: isObject(reasoning) ? reasoning['effort'] : undefined,
    response_format: isObject(format) ? { type: format['type'], json_schema: format } : undefined,
    tools: toolsOf(body['tools']),
    tool_choice: isObject(choice) && choice['type'] === 'function' ? { function: { name: choice['name'] } } : choice,
    stream: body['stream'],
  })
}

/** Tools that the vendor would run never call anything here. */
function toolsOf(tools: unknown): JsonObject[] | undefined {
  if (!Array.isArray(tools)) return undefined
  return tools
    .filter((tool): tool is JsonObject => isObject(tool) && tool['type'] === 'function')
    .map(({ name, description, parameters, strict }) => ({
      type: 'function',
      function: { name, description, parameters, strict },
    }))
}

export function readInput({ input, instructions }: JsonObject): JsonObject[] {
  const messages: JsonObject[] = isString(instructions) ? [{ role: 'system', content: instructions }] : []
  if (isString(input)) return [...messages, { role: 'user', content: input }]
  if (!Array.isArray(input) || input.length === 0) {
    throw new Refusal("Missing required parameter: 'input'.", { param: 'input', code: 'missing_required_parameter' })
  }
  const calls = new Set<unknown>()
  for (const [at, item] of input.entries()) {
    if (!isObject(item)) throw new Refusal(`Invalid type for 'input[${at}]'.`, { param: `input[${at}]` })
    const message = messageOf(item, `input[${at}]`, calls)
    if (message) messages.push(message)
  }
  return messages
}

function messageOf(item: JsonObject, param: string, calls: Set<unknown>): JsonObject | null {
  const { type = 'message', call_id: id } = item
  switch (type) {
    case 'message':
      return { role: item['role'], content: contentOf(item['content'], param) }
    case 'function_call':
      calls.add(id)
      return { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: calledBy(item) }] }
    case 'function_call_output':
      if (!calls.has(id)) {
        throw new Refusal(`No tool call found for function call output with call_id ${String(id)}.`, { param: 'input' })
      }
      return { role: 'tool', tool_call_id: id, content: contentOf(item['output'], param) }
    case 'compaction':
      return { role: 'system', content: contentOfCompaction(item, param) }
    case 'reasoning':
      return null
    default:
      throw new Refusal(`Invalid value: '${String(type)}'.`, { param: `${param}.type`, code: 'invalid_value' })
  }
}

function calledBy({ name, arguments: args }: JsonObject): JsonObject {
  return { name, arguments: args }
}

function contentOfCompaction({ encrypted_content: content }: JsonObject, param: string): string {
  const text = isString(content) ? Buffer.from(content, 'base64').toString() : ''
  if (text.startsWith(COMPACTED)) return text.slice(COMPACTED.length)
  throw new Refusal('The encrypted content could not be verified.', {
    param: `${param}.encrypted_content`,
    code: 'invalid_encrypted_content',
  })
}

function contentOf(content: unknown, param: string): unknown {
  if (!Array.isArray(content)) return content
  return content.map((part) => {
    if (!isObject(part)) throw new Refusal(`Invalid type for '${param}.content'.`, { param: `${param}.content` })
    if (part['type'] === 'input_image') return { type: 'image_url', image_url: { url: part['image_url'] } }
    return { type: 'text', text: part['text'] ?? part['refusal'] }
  })
}
