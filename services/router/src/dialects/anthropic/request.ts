/**
 * A chat completion request as a Messages request.
 */

import { BackendFault } from '../../core/backend-fault.ts'
import { isObject } from '../../core/read-usage.ts'
import type { BackendRequest, Question } from '../dialect.ts'

type Json = Record<string, unknown>

/** The API demands a cap; this one holds where neither the client nor the lane has one. */
const DEFAULT_MAX_TOKENS = 4_096

/** They have no counterpart. The client is told of those that it sent. */
const LEFT_OUT = [
  ...['presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'seed'],
  ...['response_format', 'reasoning_effort', 'chat_template_kwargs'],
]

export function writeMessagesRequest(question: Question): Pick<BackendRequest, 'body' | 'dropped'> {
  if (question.kind !== 'chat') throw new Error(`the anthropic dialect knows no ${question.kind}`)
  const chat = JSON.parse(Buffer.from(question.body).toString('utf8')) as Json
  if (typeof chat.n === 'number' && chat.n > 1) throw refused('n must be 1 for this model')
  const messages = Array.isArray(chat.messages) ? chat.messages.filter(isObject) : []
  const dropped = LEFT_OUT.filter((name) => chat[name] != null)
  const body = Buffer.from(
    JSON.stringify({
      model: question.model,
      max_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? question.maxTokens ?? DEFAULT_MAX_TOKENS,
      system: systemOf(messages),
      messages: messagesOf(messages),
      // OpenAI's scale ends at 2, this one at 1.
      temperature: typeof chat.temperature === 'number' ? Math.min(1, chat.temperature) : undefined,
      top_p: chat.top_p ?? undefined,
      stop_sequences: stopSequencesOf(chat.stop),
      tools: toolsOf(chat.tools),
      tool_choice: toolChoiceOf(chat),
      metadata: typeof chat.user === 'string' ? { user_id: chat.user } : undefined,
      stream: question.stream || undefined,
    }),
  )
  return { body, dropped }
}

function refused(message: string): BackendFault {
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', param: 'n', code: null } })
  return new BackendFault('status', message, { status: 400, body })
}

function isSystem(message: Json): boolean {
  return message.role === 'system' || message.role === 'developer'
}

function systemOf(messages: Json[]): string | undefined {
  const texts = messages.filter(isSystem).map((message) => textOf(message.content))
  return texts.length > 0 ? texts.join('\n\n') : undefined
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: unknown) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join('')
}

/** Turns of one role in a row become one, as the results of several tool calls must. */
function messagesOf(messages: Json[]): Json[] {
  const turns: { role: 'user' | 'assistant'; content: Json[] }[] = []
  for (const message of messages) {
    if (isSystem(message)) continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = blocksOf(message)
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else if (content.length > 0) turns.push({ role, content })
  }
  return turns
}

function blocksOf(message: Json): Json[] {
  if (message.role === 'tool') {
    return [{ type: 'tool_result', tool_use_id: message.tool_call_id, content: contentBlocks(message.content) }]
  }
  const blocks = contentBlocks(message.content)
  if (message.role !== 'assistant' || !Array.isArray(message.tool_calls)) return blocks
  return [...blocks, ...message.tool_calls.filter(isObject).map(toolUseOf)]
}

/** Empty texts are left out: the API refuses them. */
function contentBlocks(content: unknown): Json[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) return []
  return content.filter(isObject).flatMap((part): Json[] => {
    if (part.type === 'image_url' && isObject(part.image_url)) return [imageOf(String(part.image_url.url))]
    return typeof part.text === 'string' && part.text !== '' ? [{ type: 'text', text: part.text }] : []
  })
}

function imageOf(url: string): Json {
  const inline = /^data:([^;,]+);base64,/.exec(url)
  if (!inline) return { type: 'image', source: { type: 'url', url } }
  return { type: 'image', source: { type: 'base64', media_type: inline[1], data: url.slice(inline[0].length) } }
}

function toolUseOf(call: Json): Json {
  const called = isObject(call.function) ? call.function : {}
  return { type: 'tool_use', id: call.id, name: called.name, input: parseArguments(called.arguments) }
}

/** A client sends back what a model wrote; where that was no JSON object, the call had no arguments to speak of. */
function parseArguments(text: unknown): Json {
  if (typeof text !== 'string' || text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

function stopSequencesOf(stop: unknown): unknown[] | undefined {
  if (typeof stop === 'string') return [stop]
  return Array.isArray(stop) && stop.length > 0 ? stop : undefined
}

function toolsOf(tools: unknown): Json[] | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined
  return tools.filter(isObject).flatMap((tool): Json[] => {
    if (!isObject(tool.function)) return []
    const { name, description, parameters } = tool.function
    return [{ name, description, input_schema: parameters ?? { type: 'object', properties: {} } }]
  })
}

function toolChoiceOf(chat: Json): Json | undefined {
  const parallel = chat.parallel_tool_calls === false ? { disable_parallel_tool_use: true } : {}
  const { tool_choice: choice } = chat
  if (choice === 'none') return { type: 'none' }
  if (choice === 'required') return { type: 'any', ...parallel }
  if (isObject(choice) && isObject(choice.function)) return { type: 'tool', name: choice.function.name, ...parallel }
  const hasTools = Array.isArray(chat.tools) && chat.tools.length > 0
  return hasTools && (choice === 'auto' || chat.parallel_tool_calls === false)
    ? { type: 'auto', ...parallel }
    : undefined
}
