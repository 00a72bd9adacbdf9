/**
 * The items of a Responses request as chat's messages. The API has one item for each thought, text and call of a turn.
 * Chat has one message for all of them, and wants the results of calls right behind it.
 */

import { type JsonObject, isObject, objectsOf, wordOf } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'
import { openState, STATE, type StatePiece } from '../../core/reasoning-state.ts'
import type { StateSeal } from '../../core/state-seal.ts'
import type { FunctionNames } from './function-names.ts'
import { customArguments } from './tools.ts'

export interface WrittenInput {
  messages: JsonObject[]
  dropped: string[]
}

/** One message, and the messages that must follow it. */
interface Entry {
  message: JsonObject
  calls: JsonObject[]
  /** Its calls without a result, by `call_id`. */
  open: Set<unknown>
  results: JsonObject[]
  /** Pictures in results: chat has them in a user's message only. */
  attached: JsonObject[]
}

/** Texts of the model's own, which nobody but its vendor can read. */
const ESSENTIAL = new Set(['program', 'program_output'])
/** Tools that a vendor or the client's machine ran: the texts that follow hold their results. */
const HOSTED =
  /^(?:web_search|file_search|computer|code_interpreter|image_generation|local_shell|shell|apply_patch|tool_search|mcp)_|^(?:compaction_trigger|configuration_update)$/

export function writeMessages(
  { input, instructions }: JsonObject,
  names: FunctionNames,
  states?: StateSeal,
): WrittenInput {
  const writer = new InputWriter(names, states)
  if (typeof instructions === 'string' && instructions !== '')
    writer.addMessage({ role: 'system', content: instructions })
  if (typeof input === 'string') writer.addMessage({ role: 'user', content: input })
  else if (Array.isArray(input)) input.forEach((item, index) => isObject(item) && writer.add(item, `input[${index}]`))
  return { messages: writer.messages(), dropped: [...writer.dropped] }
}

class InputWriter {
  readonly dropped = new Set<string>()
  #entries: Entry[] = []
  #callers = new Map<unknown, Entry>()
  #names: FunctionNames

  #states: StateSeal | undefined

  constructor(names: FunctionNames, states: StateSeal | undefined) {
    this.#names = names
    this.#states = states
  }

  add(item: JsonObject, field: string): void {
    const type = typeof item.type === 'string' ? item.type : 'message'
    switch (type) {
      case 'message':
        if (item.phase != null) this.dropped.add('input.phase')
        this.#reportMarks(item.content)
        return messagesOf(item, field).forEach((message) => this.addMessage(message))
      case 'reasoning':
        return this.#addThought(item, field)
      case 'function_call':
        return this.#addCall(item, item.arguments)
      case 'custom_tool_call':
        return this.#addCall(item, customArguments(item.input))
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.#addResult(item, field)
      case 'compaction':
        // The gateway's own are texts by now.
        throw refused(
          `${field}.encrypted_content`,
          "is a vendor's own compaction, which only that vendor's models read",
        )
      case 'additional_tools':
        // They stand among the tools.
        return
      default:
        if (ESSENTIAL.has(type) || !HOSTED.test(type))
          throw refused(`${field}.type`, `must not be ${type} for this model`)
        this.dropped.add(`input.${type}`)
    }
  }

  addMessage(message: JsonObject): void {
    const last = this.#entries.at(-1)
    if (message.role === 'assistant') {
      const { content } = message
      if (last && isOpenFor(last, 'content')) last.message.content = content
      // Chat has no text between a call and its result.
      else if (last && last.open.size > 0) last.message.content = joinTexts(last.message.content, content)
      else this.#push(message)
    } else if (message.role === 'system' && last?.message.role === 'system' && this.#entries.length === 1) {
      // Many chat templates take one system message, the first.
      last.message.content = joinTexts(last.message.content, message.content)
    } else this.#push(message)
  }

  /** A thought begins a turn of the model. One that only its vendor can read stays with that vendor. */
  #addThought(item: JsonObject, field: string): void {
    const turn = this.#openTurn()
    const place = { text: wordOf(turn?.message.content ?? '').length, calls: turn?.calls.length ?? 0 }
    const opened = openState(this.#states, item.encrypted_content, `${field}.encrypted_content`, place)
    if (opened === null && typeof item.encrypted_content === 'string') return void this.dropped.add('input.reasoning')
    const reported = [item.content, item.summary].find((texts) => Array.isArray(texts) && texts.length > 0)
    const text = textsOf(reported).join('\n\n')
    if (opened !== null) this.#addState(turn, opened.pieces, text)
    else if (text !== '') this.#push({ role: 'assistant', content: null, reasoning_content: text })
  }

  /** The last message where it is the model's and nothing has followed it. */
  #openTurn(): Entry | undefined {
    const last = this.#entries.at(-1)
    return last?.message.role === 'assistant' && last.results.length === 0 ? last : undefined
  }

  /** A target may think between its calls, so the state stays within their turn. */
  #addState(turn: Entry | undefined, pieces: readonly StatePiece[], text: string): void {
    if (pieces.length === 0 && text === '') return
    const { message } = turn ?? this.#push({ role: 'assistant', content: null })
    if (text !== '') message.reasoning_content = joinTexts(message.reasoning_content, text)
    const states = (message[STATE] ??= []) as StatePiece[]
    for (const piece of pieces) states.push(piece)
  }

  #addCall({ call_id: id, name, namespace }: JsonObject, args: unknown): void {
    const entry = this.#openTurn() ?? this.#push({ role: 'assistant', content: null })
    const call = { id, type: 'function', function: { name: this.#names.of(wordOf(name), namespace), arguments: args } }
    entry.calls.push(call)
    entry.message.tool_calls = entry.calls
    entry.open.add(id)
    this.#callers.set(id, entry)
  }

  #addResult({ call_id: id, output }: JsonObject, field: string): void {
    const caller = this.#callers.get(id)
    if (!caller?.open.delete(id)) throw refused(`${field}.call_id`, 'must be that of a call before it, once')
    this.#reportMarks(output)
    const parts = typeof output === 'string' ? [] : partsOf(output, `${field}.output`)
    const texts = textsOf(parts.filter(({ type }) => type === 'text'))
    const others = parts.filter(({ type }) => type !== 'text')
    const content = typeof output === 'string' ? output : texts.join('\n')
    caller.results.push({
      role: 'tool',
      tool_call_id: id,
      content: content === '' && others.length > 0 ? SHOWN : content,
    })
    if (others.length > 0) caller.attached.push({ type: 'text', text: `Result of the call ${wordOf(id)}:` })
    for (const part of others) caller.attached.push(part)
  }

  #reportMarks(parts: unknown): void {
    const isMarked = objectsOf(parts).some((part) => part.prompt_cache_breakpoint != null)
    if (isMarked) this.dropped.add('input.prompt_cache_breakpoint')
  }

  #push(message: JsonObject): Entry {
    const entry: Entry = { message, calls: [], open: new Set(), results: [], attached: [] }
    this.#entries.push(entry)
    return entry
  }

  messages(): JsonObject[] {
    return this.#entries.flatMap(({ message, results, attached }) => [
      ...(isNothing(message) ? [] : [message]),
      ...results,
      ...(attached.length > 0 ? [{ role: 'user', content: attached }] : []),
    ])
  }
}

const SHOWN = 'The result is in the next message of the user.'

/** A state of which the client has left out all that followed. */
function isNothing({ content, reasoning_content: thought, tool_calls: calls, [STATE]: state }: JsonObject): boolean {
  return state !== undefined && content === null && thought === undefined && calls === undefined
}

/** A turn that has begun with a thought waits for its text. */
function isOpenFor({ message, results }: Entry, member: string): boolean {
  return message.role === 'assistant' && message[member] === null && !message.tool_calls && results.length === 0
}

/** By concatenation, which copies nothing: a conversation may add thousands of texts to one. */
function joinTexts(before: unknown, after: unknown): string {
  if (typeof before !== 'string' || before === '') return typeof after === 'string' ? after : ''
  return typeof after === 'string' && after !== '' ? `${before}\n\n${after}` : before
}

function messagesOf({ role, content }: JsonObject, field: string): JsonObject[] {
  const own = role === 'developer' ? 'system' : role
  if (typeof content === 'string') return [{ role: own, content }]
  const parts = partsOf(content, `${field}.content`)
  if (own === 'assistant') return [assistantOf(parts, `${field}.content`)]
  const texts = parts.filter(({ type }) => type === 'text')
  if (own === 'system') return systemOf(texts, parts)
  const isShort = texts.length === parts.length && parts.length <= 1
  return [{ role: own, content: isShort ? joinedTexts(texts) : parts }]
}

/** A system's message of chat holds texts alone: its pictures and files come in the user's next words. */
function systemOf(texts: JsonObject[], parts: JsonObject[]): JsonObject[] {
  const attached = parts.filter(({ type }) => type !== 'text')
  return [
    ...(texts.length > 0 || attached.length === 0 ? [{ role: 'system', content: joinedTexts(texts) }] : []),
    ...(attached.length > 0 ? [{ role: 'user', content: attached }] : []),
  ]
}

function joinedTexts(parts: JsonObject[]): string {
  return textsOf(parts).join('\n\n')
}

/** A refusal is a text that the model said: servers of chat know no other part of an assistant. */
function assistantOf(parts: JsonObject[], field: string): JsonObject {
  const alien = parts.findIndex(({ type }) => type !== 'text' && type !== 'refusal')
  if (alien >= 0) throw refused(`${field}[${alien}].type`, 'must be output_text or refusal: the assistant said it')
  return { role: 'assistant', content: parts.map((part) => wordOf(part.text ?? part.refusal)).join('') }
}

function textsOf(parts: unknown): string[] {
  if (!Array.isArray(parts)) return []
  return parts.flatMap((part) => (isObject(part) && typeof part.text === 'string' ? [part.text] : []))
}

function partsOf(parts: unknown, field: string): JsonObject[] {
  if (!Array.isArray(parts)) return []
  return parts.filter(isObject).map((part, index) => partOf(part, `${field}[${index}]`))
}

function partOf(part: JsonObject, field: string): JsonObject {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: part.text }
    case 'refusal':
      return { type: 'refusal', refusal: part.refusal }
    case 'input_image':
      return imageOf(part, field)
    case 'input_file':
      return fileOf(part, field)
    case 'input_audio':
      return { type: 'input_audio', input_audio: part.input_audio }
    default:
      throw refused(`${field}.type`, `must not be ${wordOf(part.type)}: this model takes texts, images and files`)
  }
}

function imageOf({ image_url: url, detail }: JsonObject, field: string): JsonObject {
  if (typeof url !== 'string')
    throw refused(`${field}.image_url`, 'must be an address or a data URL: files are not kept here')
  // Chat knows low, high and auto.
  const known = detail === 'original' ? 'high' : detail
  return { type: 'image_url', image_url: { url, ...(known == null ? {} : { detail: known }) } }
}

function fileOf({ file_data: data, file_id: id, filename }: JsonObject, field: string): JsonObject {
  if (data == null && id == null)
    throw refused(`${field}.file_data`, 'must be a data URL: this model fetches no file_url')
  const named = { file_data: data, file_id: id, filename }
  return { type: 'file', file: Object.fromEntries(Object.entries(named).filter(([, value]) => value != null)) }
}
