/**
 * The messages of a chat completion as turns of the Messages API. They hold texts, images, documents, tool calls and
 * their results, each with the `cache_control` that the client wrote beside it.
 */

import { isObject, membersOf, wordOf } from '@gateway/contracts/json'
import { ANTHROPIC_IDS, fitId, objectOfArguments } from '../../core/tool-calls.ts'
import { refused } from '../../core/backend-fault.ts'
import { inTurn, type StatePiece, type TurnStates } from '../../core/reasoning-state.ts'
import { remindedOf } from '../../core/translated-messages.ts'

export type Json = Record<string, unknown>

export interface Turn {
  role: 'user' | 'assistant'
  content: Json[]
}

/** The client's members that are not in the turns, as it reads them. */
export type Lost = Set<string>

function isSystem({ role }: Json): boolean {
  return role === 'system' || role === 'developer'
}

/** Words of the system that come later stay where they are: a prompt cache would miss all that follows changed ones. */
function leadingSystem(messages: Json[]): Json[] {
  const begin = messages.findIndex((message) => !isSystem(message))
  return begin < 0 ? messages : messages.slice(0, begin)
}

/** One text, unless a part of it is to be cached. */
export function systemOf(messages: Json[], lost: Lost): string | Json[] | undefined {
  const blocks = leadingSystem(messages).flatMap((message, index) => marked(partsOf(message, index, lost), message))
  const texts = blocks.filter(isText)
  if (texts.length === 0) return undefined
  return texts.some((block) => block.cache_control) ? texts : texts.map(({ text }) => text).join('\n\n')
}

/**
 * Turns of one role in a row become one, as the results of several tool calls must. The system of this API holds texts alone:
 * its pictures and files are the user's. So are words of the system that come later, as a reminder.
 */
export function turnsOf(messages: Json[], lost: Lost, states: TurnStates = []): Turn[] {
  const turns: Turn[] = []
  const leading = leadingSystem(messages).length
  messages.forEach((message, index) => {
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const blocks = blocksOf(message, index, lost, states[index])
    const content = index < leading ? blocks.filter((block) => !isText(block)) : remindedBlocks(message, blocks)
    const last = turns.at(-1)
    if (last?.role === role) for (const block of content) last.content.push(block)
    else if (content.length > 0) turns.push({ role, content })
  })
  return turns
}

function remindedBlocks(message: Json, blocks: Json[]): Json[] {
  if (!isSystem(message)) return blocks
  return blocks.map((block) => (isText(block) ? { ...block, text: remindedOf(block.text) } : block))
}

function isText({ type }: Json): boolean {
  return type === 'text'
}

/** The model has called tools and waits for nothing but their results, and the thoughts before the calls are lost. */
export function hasLostThoughts(turns: Turn[]): boolean {
  const isInToolLoop = turns.at(-1)?.content.some(({ type }) => type === 'tool_result') ?? false
  const [first] = turns.at(-2)?.content ?? []
  return isInToolLoop && !(first && isThought(first))
}

export function cached({ cache_control: control }: Json): Json {
  return control == null ? {} : { cache_control: control }
}

/** The members of messages and their parts that are read here, or say nothing to a model. */
const OF_MESSAGE = new Set(['role', 'content', 'tool_calls', 'tool_call_id', 'refusal', 'annotations', 'cache_control'])
const OF_CALL = new Set(['id', 'type', 'index', 'function', 'cache_control'])
const OF_FUNCTION = new Set(['name', 'arguments'])
const OF_PART = new Set(['type', 'text', 'refusal', 'image_url', 'file', 'cache_control'])
const OF_FILE = new Set(['file_data', 'file_id', 'filename'])

/** The mark of a whole message stands at its last block. */
function marked(blocks: Json[], message: Json): Json[] {
  return blocks.map((block, at) => (at === blocks.length - 1 ? { ...cached(message), ...block } : block))
}

function reportLost(object: Json, known: ReadonlySet<string>, place: string, lost: Lost): void {
  for (const name of Object.keys(object)) if (object[name] != null && !known.has(name)) lost.add(`${place}.${name}`)
}

function blocksOf(message: Json, index: number, lost: Lost, pieces: readonly StatePiece[] = []): Json[] {
  const field = `messages[${index}]`
  if (message.role === 'function') throw refused(`${field}.role`, 'must not be function: use tools')
  if (message.function_call != null)
    throw refused(`${field}.function_call`, 'is not known to this model: use tool_calls')
  if (message.audio != null) throw refused(`${field}.audio`, 'is not known to this model: send its words as content')
  reportLost(message, OF_MESSAGE, 'messages', lost)
  if (message.role === 'tool') {
    const result = {
      type: 'tool_result',
      tool_use_id: fitId(message.tool_call_id, ANTHROPIC_IDS),
      content: partsOf(message, index, lost),
    }
    return marked([result], message)
  }
  const blocks = partsOf(message, index, lost)
  if (message.role !== 'assistant') return marked(blocks, message)
  const refusal = textOf(message.refusal)
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : []
  const called = calls.map((call, at) => toolUseOf(call, `${field}.tool_calls[${at}]`, lost))
  const texts = [...blocks, ...refusal]
  return marked(pieces.length === 0 ? [...texts, ...called] : thinkingTurn(texts, called, pieces), message)
}

/** The API refuses a turn that ends in a thought: the client has left out all that followed. */
function thinkingTurn(texts: Json[], calls: Json[], pieces: readonly StatePiece[]): Json[] {
  const parts = texts.map((block) => ({
    text: wordOf(block.text),
    write: (text: string): Json => (text === block.text ? block : { type: 'text', text }),
  }))
  const values = pieces.map(({ value, text, calls: before }) => ({ value: value as Json, text, calls: before }))
  const turn = inTurn(parts, calls, values)
  return turn.slice(0, turn.findLastIndex((block) => !isThought(block)) + 1)
}

function isThought({ type }: Json): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** Texts of no word are left out: the API refuses them (anthropics/claude-code#23369, 2026-02-05). */
function partsOf({ content }: Json, index: number, lost: Lost): Json[] {
  if (typeof content === 'string') return textOf(content)
  if (!Array.isArray(content)) return []
  return content
    .filter(isObject)
    .flatMap((part, at) =>
      partOf(part, `messages[${index}].content[${at}]`, lost).map((block) => ({ ...block, ...cached(part) })),
    )
}

const PARTS = new Map<unknown, (part: Json, field: string) => Json[]>([
  ['text', ({ text }) => textOf(text)],
  ['refusal', ({ refusal }) => textOf(refusal)],
  ['image_url', ({ image_url: image }, field) => [imageOf(wordOf(isObject(image) ? image.url : ''), field)]],
  ['file', ({ file }, field) => [documentOf(membersOf(file), field)]],
])

function partOf(part: Json, field: string, lost: Lost): Json[] {
  const translate = PARTS.get(part.type)
  if (!translate)
    throw refused(`${field}.type`, `must not be ${wordOf(part.type)}: this model takes texts, images and files`)
  reportLost(part, OF_PART, 'messages.content', lost)
  reportLost(membersOf(part.file), OF_FILE, 'messages.content.file', lost)
  const { detail } = membersOf(part.image_url)
  if (detail != null && detail !== 'auto') lost.add('messages.content.image_url.detail')
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

function toolUseOf(call: Json, field: string, lost: Lost): Json {
  if (!isObject(call.function)) throw refused(`${field}.type`, 'must be function for this model')
  reportLost(call, OF_CALL, 'messages.tool_calls', lost)
  reportLost(call.function, OF_FUNCTION, 'messages.tool_calls.function', lost)
  const { name, arguments: text } = call.function
  return { type: 'tool_use', id: fitId(call.id, ANTHROPIC_IDS), name, input: objectOfArguments(text), ...cached(call) }
}
