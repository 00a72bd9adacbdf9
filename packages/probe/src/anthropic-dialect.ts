/**
 * The part of Anthropic's wire format that a probe needs (https://docs.claude.com/en/api/messages).
 */

import { isObject, objectsOf, type JsonObject } from '@gateway/contracts/json'
import { numberOf, textOf, type ChatBody, type Dialect, type ResponseContent } from './dialect.ts'

/** Anthropic requires a cap. */
const DEFAULT_CAP_TOKENS = 64

export const anthropicDialect: Dialect = {
  path: '/messages',
  headers: (apiKey): Record<string, string> => ({
    'anthropic-version': '2023-06-01',
    ...(apiKey ? { 'x-api-key': apiKey } : {}),
  }),
  write,
  read,
  lastEvent: null,
}

const RENAMED = new Map(Object.entries<string>({ max_completion_tokens: 'max_tokens', stop: 'stop_sequences' }))
const TRANSLATED = new Set(['messages', 'tools', 'tool_choice', 'stream_options'])

function write(body: ChatBody): JsonObject {
  const rest = Object.entries(body)
    .filter(([name]) => !TRANSLATED.has(name))
    .map(([name, value]) => [RENAMED.get(name) ?? name, value])
  const system = body.messages.filter(({ role }) => role === 'system' || role === 'developer')
  return {
    max_tokens: DEFAULT_CAP_TOKENS,
    ...Object.fromEntries(rest),
    messages: body.messages.filter((message) => !system.includes(message)).map(writeMessage),
    ...(system.length > 0 ? { system: system.map(({ content }) => textOf(content)).join('\n') } : {}),
    ...(body['tools'] ? { tools: objectsOf(body['tools']).map(writeTool), tool_choice: { type: 'any' } } : {}),
  }
}

function writeMessage({ role, content }: JsonObject): JsonObject {
  return { role, content: Array.isArray(content) ? content.filter(isObject).map(writePart) : content }
}

const DATA_URL = /^data:([^;]+);base64,(.*)$/s

function writePart(part: JsonObject): JsonObject {
  const url = isObject(part['image_url']) ? textOf(part['image_url']['url']) : ''
  const [, mediaType, data] = DATA_URL.exec(url) ?? []
  return data === undefined ? part : { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}

function writeTool(tool: JsonObject): JsonObject {
  const called = isObject(tool['function']) ? tool['function'] : {}
  return { name: called['name'], description: called['description'], input_schema: called['parameters'] }
}

function read(received: ResponseContent, json: JsonObject): void {
  if (json['type'] === 'message_stop') received.ended = true
  const message = isObject(json['message']) ? json['message'] : json
  received.choices = 1
  for (const block of objectsOf(message['content'])) readBlock(received, block)
  if (isObject(json['content_block'])) readBlock(received, json['content_block'])
  if (isObject(json['delta'])) readDelta(received, json['delta'])
  received.finish = textOf(message['stop_reason']) || received.finish
  const usage = [json['usage'], message['usage']].find(isObject)
  if (!usage) return
  received.usage = {
    prompt: numberOf(usage['input_tokens']) || (received.usage?.prompt ?? 0),
    completion: numberOf(usage['output_tokens']),
  }
}

function readBlock(received: ResponseContent, block: JsonObject): void {
  received.text += textOf(block['text'])
  if (block['type'] !== 'tool_use') return
  const input = isObject(block['input']) && Object.keys(block['input']).length > 0 ? JSON.stringify(block['input']) : ''
  received.tools.push({ name: textOf(block['name']), arguments: input })
}

function readDelta(received: ResponseContent, delta: JsonObject): void {
  received.text += textOf(delta['text'])
  received.finish = textOf(delta['stop_reason']) || received.finish
  const call = received.tools.at(-1)
  if (call) call.arguments += textOf(delta['partial_json'])
}
