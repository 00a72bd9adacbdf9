/**
 * The messages of a chat completion as turns of the Messages API: texts, images, documents, tool calls and their results,
 * each with the `cache_control` that the client wrote beside it.
 */

import { parseExactly, isObject, membersOf, wordOf } from '@gateway/contracts/json'
import { ANTHROPIC_IDS, fitId } from '../../core/tool-calls.ts'
import { refused } from '../../core/backend-fault.ts'

export type Json = Record<string, unknown>

export interface Turn {
  role: 'user' | 'assistant'
  content: Json[]
}

function isSystem({ role }: Json): boolean {
  return role === 'system' || role === 'developer'
}

/** One text, unless a part of it is to be cached. */
export function systemOf(messages: Json[]): string | Json[] | undefined {
  const blocks = messages.flatMap((message, index) => (isSystem(message) ? partsOf(message, index) : []))
  if (blocks.length === 0) return undefined
  return blocks.some((block) => block.cache_control) ? blocks : blocks.map(({ text }) => text).join('\n\n')
}

/** Turns of one role in a row become one, as the results of several tool calls must. */
export function turnsOf(messages: Json[]): Turn[] {
  const turns: Turn[] = []
  messages.forEach((message, index) => {
    if (isSystem(message)) return
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = blocksOf(message, index)
    const last = turns.at(-1)
    if (last?.role === role) for (const block of content) last.content.push(block)
    else if (content.length > 0) turns.push({ role, content })
  })
  return turns
}

/** The model has called tools and waits for nothing but their results. */
export function isInToolLoop(turns: Turn[]): boolean {
  return turns.at(-1)?.content.some(({ type }) => type === 'tool_result') ?? false
}

export function cached({ cache_control: control }: Json): Json {
  return control == null ? {} : { cache_control: control }
}

function blocksOf(message: Json, index: number): Json[] {
  if (message.role === 'function') throw refused(`messages[${index}].role`, 'must not be function: use tools')
  if (message.role === 'tool') {
    const result = {
      type: 'tool_result',
      tool_use_id: fitId(message.tool_call_id, ANTHROPIC_IDS),
      content: partsOf(message, index),
    }
    return [{ ...result, ...cached(message) }]
  }
  const blocks = partsOf(message, index)
  if (message.role !== 'assistant' || !Array.isArray(message.tool_calls)) return blocks
  return [...blocks, ...message.tool_calls.filter(isObject).map(toolUseOf)]
}

/** Texts of no word are left out: the API refuses them (anthropics/claude-code#23369, 2026-02-05). */
function partsOf(message: Json, index: number): Json[] {
  const { content } = message
  if (typeof content === 'string')
    return content.trim() === '' ? [] : [{ type: 'text', text: content, ...cached(message) }]
  if (!Array.isArray(content)) return []
  return content
    .filter(isObject)
    .flatMap((part, at) =>
      partOf(part, `messages[${index}].content[${at}]`).map((block) => ({ ...block, ...cached(part) })),
    )
}

const PARTS = new Map(
  Object.entries<(part: Json, field: string) => Json[]>({
    text: ({ text }) => textOf(text),
    refusal: ({ refusal }) => textOf(refusal),
    image_url: ({ image_url: image }, field) => [imageOf(wordOf(isObject(image) ? image.url : ''), field)],
    file: ({ file }, field) => [documentOf(membersOf(file), field)],
  }),
)

function partOf(part: Json, field: string): Json[] {
  const translate = PARTS.get(wordOf(part.type))
  if (!translate)
    throw refused(`${field}.type`, `must not be ${wordOf(part.type)}: this model takes texts, images and files`)
  return translate(part, field)
}

function textOf(text: unknown): Json[] {
  return typeof text === 'string' && text.trim() !== '' ? [{ type: 'text', text }] : []
}

function imageOf(url: string, field: string): Json {
  const inline = inlineData(url)
  if (inline) return { type: 'image', source: { type: 'base64', ...inline } }
  if (url.startsWith('data:')) throw refused(`${field}.image_url.url`, 'must be base64 where it is a data URL')
  return { type: 'image', source: { type: 'url', url } }
}

/** The sources of `@anthropic-ai/sdk` 1.12 (2026): PDFs in base64, plain texts, files that were uploaded before. */
function documentOf({ file_data: data, file_id: id, filename: title }: Json, field: string): Json {
  const named = typeof title === 'string' ? { title } : {}
  if (typeof id === 'string') return { type: 'document', source: { type: 'file', file_id: id }, ...named }
  const inline = typeof data === 'string' ? inlineData(data) : null
  if (inline?.media_type === 'application/pdf')
    return { type: 'document', source: { type: 'base64', ...inline }, ...named }
  if (inline?.media_type.startsWith('text/')) {
    const text = Buffer.from(inline.data, 'base64').toString('utf8')
    return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...named }
  }
  throw refused(`${field}.file`, 'must be a PDF or a text, as file_data in a base64 data URL, or a file_id')
}

const DATA = 'data:'

/** Searched, not matched: a pattern over megabytes of a client's text could go back and forth in them. */
function inlineData(url: string): { media_type: string; data: string } | null {
  const comma = url.indexOf(',')
  if (!url.startsWith(DATA) || comma < 0) return null
  const head = url.slice(DATA.length, comma)
  const mediaType = head.slice(0, head.indexOf(';'))
  return mediaType !== '' && head.endsWith(';base64') ? { media_type: mediaType, data: url.slice(comma + 1) } : null
}

function toolUseOf(call: Json): Json {
  const called = membersOf(call.function)
  const id = fitId(call.id, ANTHROPIC_IDS)
  return { type: 'tool_use', id, name: called.name, input: parseArguments(called.arguments), ...cached(call) }
}

/** A client sends back what a model wrote; where that was no JSON object, the call had no arguments to speak of. */
function parseArguments(text: unknown): Json {
  if (typeof text !== 'string' || text.trim() === '') return {}
  try {
    const value: unknown = parseExactly(text)
    return membersOf(value)
  } catch {
    return {}
  }
}
