/**
 * The turns of the Messages API as messages of a chat completion: texts, images, documents, tool calls and their
 * results.
 *
 * Chat has no place for the thoughts of another vendor and for marks of the cache. Nor has it one for the calls and
 * results of tools that the vendor runs itself. They are left out and reported. A block that chat cannot express at all
 * is refused.
 */

import { type JsonObject, isObject, membersOf, objectsOf, wordOf } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'
import { openState, STATE, type StatePiece } from '../../core/reasoning-state.ts'
import type { StateSeal } from '../../core/state-seal.ts'
import { UNSIGNED } from '../messages-to-messages/unsigned.ts'

type Lost = Set<string>

/** One text, since templates of open models take no more. */
export function systemOf(system: unknown, lost: Lost): JsonObject[] {
  const text = typeof system === 'string' ? system : textsOf(system, lost).join('\n\n')
  return text === '' ? [] : [{ role: 'system', content: text }]
}

export function messagesOf(messages: unknown, lost: Lost, states: StateSeal | undefined): JsonObject[] {
  if (!Array.isArray(messages)) return []
  // The API goes on in the middle of such a turn. A model of chat begins another one.
  if (membersOf(messages.at(-1)).role === 'assistant') lost.add('messages.prefill')
  const written: JsonObject[] = []
  const add = (message: JsonObject) => written.push(message)
  // The API takes turns of the user in a row as one, and chat wants all results of calls right behind those.
  let words: JsonObject[] = []
  messages.filter(isObject).forEach((message, index) => {
    const blocks = blocksOf(message.content)
    for (const block of blocks) reportMarks(block, lost)
    const field = `messages[${index}].content`
    if (message.role !== 'system' && message.role !== 'assistant') {
      const turn = userOf(blocks, field, lost)
      turn.results.forEach(add)
      return void words.push(...turn.words)
    }
    words.forEach(add)
    words = []
    const isSystem = message.role === 'system'
    const own = isSystem ? systemOf(message.content, lost) : assistantOf(blocks, field, lost, states)
    own.forEach(add)
  })
  return [...written, ...words]
}

function blocksOf(content: unknown): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return objectsOf(content)
}

function reportMarks(block: JsonObject, lost: Lost): void {
  if (block.cache_control != null) lost.add('cache_control')
  if (isObject(block.citations) && block.citations.enabled === true) lost.add('citations')
  if (block.is_error === true) lost.add('is_error')
  if (block.transformations != null) lost.add('transformations')
}

function textsOf(blocks: unknown, lost: Lost): string[] {
  if (!Array.isArray(blocks)) return []
  return blocks.filter(isObject).flatMap((block) => {
    reportMarks(block, lost)
    return typeof block.text === 'string' && block.text !== '' ? [block.text] : []
  })
}

function assistantOf(blocks: JsonObject[], field: string, lost: Lost, states: StateSeal | undefined): JsonObject[] {
  let text = ''
  let thoughts = ''
  const calls: JsonObject[] = []
  const pieces: StatePiece[] = []
  for (const [at, block] of blocks.entries()) {
    const type = wordOf(block.type)
    if (type === 'text') text += typeof block.text === 'string' ? block.text : ''
    else if (type === 'tool_use') calls.push(toolCallOf(block))
    else if (block.signature === UNSIGNED) thoughts += wordOf(block.thinking)
    else if (type === 'thinking' || type === 'redacted_thinking') {
      const member = type === 'thinking' ? 'signature' : 'data'
      const place = { text: text.length, calls: calls.length }
      const opened = openState(states, block[member], `${field}[${at}].${member}`, place)
      if (opened === null) lost.add('thinking')
      else {
        pieces.push(...opened.pieces)
        thoughts += wordOf(block.thinking ?? '')
      }
    } else if (type === 'compaction') text = joined(text, block.content)
    else if (OF_VENDOR.has(type) || type.endsWith('_tool_result')) lost.add(type)
    else throw refused(`${field}[${at}].type`, `must not be ${type} for this model`)
  }
  if (text === '' && calls.length === 0) return []
  const state = pieces.length === 0 ? {} : { [STATE]: pieces }
  const thought = thoughts === '' ? state : { reasoning_content: thoughts, ...state }
  if (calls.length === 0) return [{ role: 'assistant', content: text, ...thought }]
  return [{ role: 'assistant', content: text === '' ? null : text, ...thought, tool_calls: calls }]
}

/** Tools that the vendor ran and models that it chose: the texts hold their results. */
const OF_VENDOR = new Set(['server_tool_use', 'mcp_tool_use', 'mcp_tool_listing', 'fallback'])

/** The summary of a compaction is a text as any other. */
function joined(text: string, summary: unknown): string {
  if (typeof summary !== 'string' || summary === '') return text
  return text === '' ? summary : `${text}\n\n${summary}`
}

function toolCallOf({ id, name, input }: JsonObject): JsonObject {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } }
}

interface UserTurn {
  /** The messages of tools. */
  results: JsonObject[]
  /** The one message of all else, where there is any. */
  words: JsonObject[]
}

function userOf(blocks: JsonObject[], field: string, lost: Lost): UserTurn {
  const results: JsonObject[] = []
  const parts: JsonObject[] = []
  for (const [at, block] of blocks.entries()) {
    let own: JsonObject[]
    if (block.type === 'tool_result') {
      const { message, attached } = resultOf(block, `${field}[${at}]`, lost)
      results.push(message)
      own = attached
    } else own = partsOf(block, `${field}[${at}]`)
    for (const part of own) parts.push(part)
  }
  const [first] = parts
  if (!first) return { results, words: [] }
  const content = parts.length === 1 && first.type === 'text' ? first.text : parts
  return { results, words: [{ role: 'user', content }] }
}

/**
 * The message of a result holds texts alone: its images and documents come with the user's next words, where their call is
 * named. Several results may have some, and the user's own follow.
 */
function resultOf(block: JsonObject, field: string, lost: Lost): { message: JsonObject; attached: JsonObject[] } {
  const blocks = blocksOf(block.content)
  for (const inner of blocks) reportMarks(inner, lost)
  const parts = blocks.flatMap((inner, at) => partsOf(inner, `${field}.content[${at}]`))
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const attached = parts.filter((part) => part.type !== 'text')
  const content = texts.length === 0 && attached.length > 0 ? 'The result is attached below.' : texts.join('\n')
  const label = { type: 'text', text: `Result of the call ${wordOf(block.tool_use_id)}:` }
  return {
    message: { role: 'tool', tool_call_id: block.tool_use_id, content },
    attached: attached.length > 0 ? [label, ...attached] : [],
  }
}

const PARTS = new Map(
  Object.entries<(block: JsonObject, field: string) => JsonObject[]>({
    text: ({ text }) => textPart(text),
    image: ({ source }, field) => [imageOf(membersOf(source), `${field}.source`)],
    document: (block, field) => documentOf(block, field),
    search_result: ({ source, title, content }, field) => [
      ...textPart([title, source].filter((line) => typeof line === 'string').join('\n')),
      ...blocksOf(content).flatMap((inner, at) => partsOf(inner, `${field}.content[${at}]`)),
    ],
    tool_reference: ({ tool_name: name }) => textPart(name),
  }),
)

function partsOf(block: JsonObject, field: string): JsonObject[] {
  const translate = PARTS.get(wordOf(block.type))
  if (!translate) throw refused(`${field}.type`, `must not be ${wordOf(block.type)} for this model`)
  return translate(block, field)
}

function textPart(text: unknown): JsonObject[] {
  return typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : []
}

function imageOf({ type, media_type: mediaType, data, url }: JsonObject, field: string): JsonObject {
  if (type === 'base64')
    return { type: 'image_url', image_url: { url: `data:${wordOf(mediaType)};base64,${wordOf(data)}` } }
  if (type === 'url') return { type: 'image_url', image_url: { url } }
  throw refused(`${field}.type`, 'must be base64 or url for this model')
}

function documentOf({ source, title, context }: JsonObject, field: string): JsonObject[] {
  const { type, media_type: mediaType, data, content, file_id: id } = membersOf(source)
  const named = typeof title === 'string' ? { filename: title } : {}
  const about = textPart(context)
  switch (type) {
    case 'base64': {
      const url = `data:${wordOf(mediaType)};base64,${wordOf(data)}`
      return [...about, { type: 'file', file: { filename: 'document.pdf', ...named, file_data: url } }]
    }
    case 'file':
      return [...about, { type: 'file', file: { file_id: id, ...named } }]
    case 'text':
      return [...textPart(title), ...about, ...textPart(data)]
    case 'content': {
      const parts = blocksOf(content).flatMap((inner, at) => partsOf(inner, `${field}.source.content[${at}]`))
      return [...textPart(title), ...about, ...parts]
    }
    default:
      throw refused(`${field}.source.type`, 'must be base64, text, content or file for this model')
  }
}
