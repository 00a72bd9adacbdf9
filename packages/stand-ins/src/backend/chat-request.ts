/**
 * Reads a chat request the way an OpenAI-compatible server does: an unknown member passes, a known one must have the right
 * type.
 */

import {
  isBoolean,
  isCount,
  isNumber,
  isObject,
  isString,
  type JsonObject,
  optional,
  Refusal,
  required,
} from './refusal.ts'

export interface ChatTool {
  name: string
  description: string
  parameters: unknown
}

export interface ChatMessage {
  role: string
  text: string
  images: number
  /** Names and arguments of an assistant's calls, as text: they count as prompt tokens. */
  calls: string
}

export interface ChatRequest {
  model: string
  messages: ChatMessage[]
  stream: boolean
  includeUsage: boolean
  maxTokens: number | undefined
  n: number
  stop: string[]
  tools: ChatTool[]
  toolChoice: 'none' | 'auto' | 'required' | { name: string }
  parallelToolCalls: boolean
  thinking: boolean
  /** `undefined`: text; otherwise the schema that the response must fit. */
  jsonSchema: unknown
}

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

const isArray = (value: unknown): value is unknown[] => Array.isArray(value)
const isStop = (value: unknown): value is string | string[] =>
  isString(value) || (Array.isArray(value) && value.every(isString))

export function readChatRequest(body: JsonObject): ChatRequest {
  const stream = optional(body, 'stream', 'a boolean', isBoolean) ?? false
  const streamOptions = optional(body, 'stream_options', 'an object', isObject)
  if (streamOptions && !stream) {
    throw new Refusal("The 'stream_options' parameter is only allowed when 'stream' is enabled.", {
      param: 'stream_options',
    })
  }
  optional(body, 'temperature', 'a number', isNumber)
  optional(body, 'top_p', 'a number', isNumber)
  const stop = optional(body, 'stop', 'a string or an array of strings', isStop) ?? []
  const template = optional(body, 'chat_template_kwargs', 'an object', isObject)
  return {
    model: required(body, 'model', 'a string', isString),
    messages: readMessages(required(body, 'messages', 'an array', isArray)),
    stream,
    includeUsage: streamOptions?.['include_usage'] === true,
    maxTokens:
      optional(body, 'max_completion_tokens', 'an integer of at least 1', isCount) ??
      optional(body, 'max_tokens', 'an integer of at least 1', isCount),
    n: optional(body, 'n', 'an integer of at least 1', isCount) ?? 1,
    stop: (isString(stop) ? [stop] : stop).filter((text) => text !== ''),
    tools: (optional(body, 'tools', 'an array', isArray) ?? []).map(readTool),
    toolChoice: readToolChoice(body['tool_choice']),
    parallelToolCalls: optional(body, 'parallel_tool_calls', 'a boolean', isBoolean) ?? true,
    thinking: template?.['enable_thinking'] !== false && body['reasoning_effort'] !== 'none',
    jsonSchema: readJsonSchema(optional(body, 'response_format', 'an object', isObject)),
  }
}

function readMessages(messages: unknown[]): ChatMessage[] {
  if (messages.length === 0)
    throw new Refusal("Invalid 'messages': empty array.", { param: 'messages', code: 'empty_array' })
  return messages.map((message, index) => {
    const param = `messages[${index}]`
    if (!isObject(message)) throw new Refusal(`Invalid type for '${param}': expected an object.`, { param })
    if (!ROLES.includes(String(message['role']))) {
      throw new Refusal(`Invalid value for '${param}.role'.`, { param: `${param}.role`, code: 'invalid_value' })
    }
    return { role: String(message['role']), ...readContent(message, param), calls: callsText(message['tool_calls']) }
  })
}

function readContent(message: JsonObject, param: string): { text: string; images: number } {
  const content = message['content']
  if (isString(content)) return { text: content, images: 0 }
  if (content == null && message['role'] === 'assistant') return { text: '', images: 0 }
  if (!Array.isArray(content)) {
    throw new Refusal(`Invalid type for '${param}.content'.`, { param: `${param}.content`, code: 'invalid_type' })
  }
  let text = ''
  let images = 0
  for (const part of content) {
    if (!isObject(part) || !isString(part['type']))
      throw new Refusal(`Invalid '${param}.content'.`, { param: `${param}.content` })
    if (part['type'] === 'image_url') images += checkImage(part, `${param}.content`)
    else if (isString(part['text'])) text += (text && '\n') + part['text']
  }
  return { text, images }
}

function checkImage(part: JsonObject, param: string): 1 {
  const image = part['image_url']
  if (!isObject(image) || !isString(image['url']) || !/^(https?:|data:image\/)/.test(image['url'].slice(0, 32))) {
    throw new Refusal(`Invalid '${param}.image_url'.`, { param: `${param}.image_url`, code: 'invalid_image_url' })
  }
  return 1
}

function callsText(calls: unknown): string {
  if (!Array.isArray(calls)) return ''
  return calls
    .map((call) => (isObject(call) && isObject(call['function']) ? JSON.stringify(call['function']) : ''))
    .join('')
}

function readTool(tool: unknown, index: number): ChatTool {
  const param = `tools[${index}]`
  if (
    !isObject(tool) ||
    tool['type'] !== 'function' ||
    !isObject(tool['function']) ||
    !isString(tool['function']['name'])
  ) {
    throw new Refusal(`Invalid '${param}': expected a function with a name.`, { param })
  }
  const { name, description, parameters } = tool['function']
  return { name, description: isString(description) ? description : '', parameters: parameters ?? {} }
}

function readToolChoice(choice: unknown): ChatRequest['toolChoice'] {
  if (choice === undefined || choice === null) return 'auto'
  if (choice === 'none' || choice === 'auto' || choice === 'required') return choice
  if (isObject(choice) && isObject(choice['function']) && isString(choice['function']['name'])) {
    return { name: choice['function']['name'] }
  }
  throw new Refusal("Invalid value for 'tool_choice'.", { param: 'tool_choice', code: 'invalid_value' })
}

function readJsonSchema(format: JsonObject | undefined): unknown {
  if (format?.['type'] === 'json_object') return { type: 'object', properties: { reply: { type: 'string' } } }
  if (format?.['type'] !== 'json_schema') return undefined
  const named = format['json_schema']
  return isObject(named) ? (named['schema'] ?? {}) : {}
}
