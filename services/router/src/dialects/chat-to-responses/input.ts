/**
 * The messages of a chat completion as items of a Responses request: messages, calls and their outputs.
 *
 * Of the model's earlier reasoning the API takes back only its own items, which come beside the messages.
 */

import { isObject, type JsonObject, membersOf, objectsOf, wordOf } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'
import { inTurn, type StatePiece, type TurnStates } from '../../core/reasoning-state.ts'

export interface WrittenInput {
  items: JsonObject[]
  dropped: string[]
}

export function inputOf(messages: readonly JsonObject[], states: TurnStates = []): WrittenInput {
  const writer = new InputWriter()
  messages.forEach((message, index) => writer.write(message, `messages[${index}]`, states[index]))
  return { items: writer.items, dropped: [...writer.dropped] }
}

/** The members that are read here, or say nothing to a model. */
const OF_MESSAGE = new Set(['role', 'content', 'refusal', 'tool_calls', 'tool_call_id', 'function_call', 'annotations'])

class InputWriter {
  readonly items: JsonObject[] = []
  readonly dropped = new Set<string>()
  /** The ids of custom calls: their outputs have a type of their own. */
  #custom = new Set<unknown>()

  write(message: JsonObject, field: string, pieces: readonly StatePiece[] = []): void {
    for (const name of Object.keys(message))
      if (message[name] != null && !OF_MESSAGE.has(name)) this.dropped.add(`messages.${name}`)
    switch (message.role) {
      case 'assistant':
        return this.#writeAssistant(message, field, pieces)
      case 'tool':
        return this.#writeOutput(message, field)
      case 'function':
        throw refused(`${field}.role`, 'must not be function: use tools')
      default:
        this.items.push({ type: 'message', role: message.role, content: this.#content(message.content, field) })
    }
  }

  #writeAssistant(message: JsonObject, field: string, pieces: readonly StatePiece[]): void {
    if (message.function_call != null) throw refused(`${field}.function_call`, 'is not known to this model: use tools')
    const texts = this.#textsOf(message, field)
    const calls = objectsOf(message.tool_calls).map((call, at) => this.#callOf(call, `${field}.tool_calls[${at}]`))
    let content: JsonObject[] = []
    const writeMessage = () => {
      if (content.length === 0) return
      const id = `msg_svc_${this.items.length}`
      this.items.push({ type: 'message', id, status: 'completed', role: 'assistant', content })
      content = []
    }
    for (const part of pieces.length === 0 ? [...texts, ...calls] : reasonedTurn(texts, calls, pieces)) {
      if (PART_TYPES.has(part.type)) content.push(part)
      else {
        writeMessage()
        this.items.push(part)
      }
    }
    writeMessage()
  }

  /** The model's own text and refusals, in order. */
  #textsOf({ content, refusal }: JsonObject, field: string): JsonObject[] {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : objectsOf(content)
    const said = parts.map((part, at) => {
      if (part.type === 'refusal') return refusalPart(part.refusal)
      if (part.type !== 'text') throw refused(`${field}.content[${at}].type`, `must not be ${wordOf(part.type)}`)
      this.#reportCacheControl(part)
      return { type: 'output_text', text: part.text, annotations: [] }
    })
    const all = typeof refusal === 'string' ? [...said, refusalPart(refusal)] : said
    return all.filter((part) => part.text !== '' && part.refusal !== '')
  }

  #callOf(call: JsonObject, field: string): JsonObject {
    if (call.type === 'custom') {
      this.#custom.add(call.id)
      const { name, input } = membersOf(call.custom)
      return { type: 'custom_tool_call', call_id: call.id, name, input }
    }
    if (!isObject(call.function)) throw refused(`${field}.type`, 'must be function or custom')
    const { name, arguments: args } = call.function
    return {
      type: 'function_call',
      call_id: call.id,
      name,
      arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
    }
  }

  #writeOutput({ tool_call_id: id, content }: JsonObject, field: string): void {
    const type = this.#custom.has(id) ? 'custom_tool_call_output' : 'function_call_output'
    this.items.push({ type, call_id: id, output: this.#content(content, field) })
  }

  /** A text, or parts of it. */
  #content(content: unknown, field: string): unknown {
    if (typeof content === 'string') return content
    return objectsOf(content).map((part, at) => {
      this.#reportCacheControl(part)
      return partOf(part, `${field}.content[${at}]`)
    })
  }

  #reportCacheControl({ cache_control: control }: JsonObject): void {
    if (control != null) this.dropped.add('messages.cache_control')
  }
}

const PART_TYPES = new Set<unknown>(['output_text', 'refusal'])

/** The API refuses reasoning that nothing follows: the client has left out the rest of the turn. */
function reasonedTurn(texts: JsonObject[], calls: JsonObject[], pieces: readonly StatePiece[]): JsonObject[] {
  const parts = texts.map((part) => ({
    text: wordOf(part.text ?? ''),
    write: (text: string): JsonObject => (text === (part.text ?? '') ? part : { ...part, text }),
  }))
  const values = pieces.map(({ value, text, calls: before }) => ({ value: value as JsonObject, text, calls: before }))
  const turn = inTurn(parts, calls, values)
  return turn.slice(0, turn.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

/** Both APIs write it alike. */
function breakpointOf({ prompt_cache_breakpoint: point }: JsonObject): JsonObject {
  return point == null ? {} : { prompt_cache_breakpoint: point }
}

function refusalPart(refusal: unknown): JsonObject {
  return { type: 'refusal', refusal }
}

function partOf(part: JsonObject, field: string): JsonObject {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text, ...breakpointOf(part) }
    case 'image_url': {
      const { url, detail } = isObject(part.image_url) ? part.image_url : { url: part.image_url }
      return { type: 'input_image', image_url: url, ...(detail == null ? {} : { detail }), ...breakpointOf(part) }
    }
    case 'file':
      return { type: 'input_file', ...membersOf(part.file), ...breakpointOf(part) }
    default:
      throw refused(`${field}.type`, `must not be ${wordOf(part.type)}: this model takes texts, images and files`)
  }
}
