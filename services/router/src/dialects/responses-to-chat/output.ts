/**
 * The output of a response while it is generated: its items in order, and an event for each thing that happens to them.
 * A plain response is the same output, and nobody hears of its events.
 *
 * Thoughts and messages follow one another. Calls stay open until the response ends, because chat may mix their pieces.
 */

import type { JsonObject } from '@gateway/contracts/json'
import { customInput, ownTool, type OwnTools } from './tools.ts'

/** The beginning of the ids of thoughts that came out of chat: no vendor keeps them. */
export const OWN_THOUGHT = 'rs_svc_'

/** Hears of all that happens to the output. */
export interface Listener {
  emit(type: string, members: JsonObject): void
  /** `place`: all but the piece itself, and the same object for all pieces of a text. */
  notifyPiece(type: string, place: JsonObject, piece: string): void
}

/** The listener of a plain response, which has no events. */
export const NO_LISTENER: Listener = { emit() {}, notifyPiece() {} }

type PartKind = 'output_text' | 'refusal' | 'reasoning_text' | 'summary_text'

/** The names that the API has for the pieces of each kind of part. */
const PARTS = {
  output_text: partNames('response.output_text', 'text', 'content_index'),
  refusal: partNames('response.refusal', 'refusal', 'content_index'),
  reasoning_text: partNames('response.reasoning_text', 'text', 'content_index'),
  summary_text: partNames('response.reasoning_summary_text', 'text', 'summary_index'),
}

function partNames(event: string, member: 'text' | 'refusal', index: 'content_index' | 'summary_index') {
  return { pieces: `${event}.delta`, end: `${event}.done`, member, index }
}

type Status = 'completed' | 'incomplete'

interface Part {
  kind: PartKind
  text: string
  logprobs: unknown[]
  /** The place of its pieces, where they bring no logprobs. */
  place: JsonObject
}

interface TextItem {
  type: 'message' | 'reasoning'
  position: number
  id: string
  parts: Part[]
  /** The sealed state of a thought. */
  state?: string
}

interface Call {
  type: 'call'
  position: number
  id: string
  callId: string
  /** The function's name. */
  called: string
  args: string
  /** The place of its pieces. */
  place: JsonObject
}

export class Output {
  /** Their end as items; null while they are open. */
  readonly items: (JsonObject | null)[] = []
  #listener: Listener
  #own: OwnTools
  /** Ids of items are made of it. */
  #suffix: string
  #openText: TextItem | null = null
  #calls = new Map<number, Call>()
  #callIds = new Set<string>()

  constructor(listener: Listener, own: OwnTools, responseId: string) {
    this.#listener = listener
    this.#own = own
    this.#suffix = responseId.replace(/^resp_/, '')
  }

  /** A piece of a text, of any part. */
  writeText(type: TextItem['type'], kind: PartKind, piece: string, logprobs: unknown[] = []): void {
    let textItem = this.#openText
    if (textItem?.type !== type) {
      this.#endText('completed')
      textItem = this.#startText(type)
    }
    let part = textItem.parts.at(-1)
    if (part?.kind !== kind) {
      if (part) this.#endPart(textItem)
      part = { kind, text: '', logprobs: [], place: {} }
      textItem.parts.push(part)
      part.place = { ...placeOf(textItem), ...(kind === 'output_text' ? { logprobs: [] } : {}) }
      this.#emitPart('added', textItem)
    }
    part.text += piece
    for (const logprob of logprobs) part.logprobs.push(logprob)
    const place = logprobs.length === 0 ? part.place : { ...part.place, logprobs }
    this.#listener.notifyPiece(PARTS[kind].pieces, place, piece)
  }

  /** The sealed state of the thought before it, which it ends, or a thought of its own. Null: it could not be sealed. */
  writeState(state: string | null): void {
    if (state === null) return
    const thought = this.#openText?.type === 'reasoning' ? this.#openText : this.#startHiddenThought()
    thought.state = state
    this.#endText('completed')
  }

  /** A piece of a call; `index` is its place among the calls. The first piece names it. */
  call(index: number, { id, name, args }: { id: unknown; name: unknown; args: unknown }): void {
    let call = this.#calls.get(index)
    if (!call) {
      this.#endText('completed')
      call = this.#startCall(index, id, typeof name === 'string' ? name : '')
    }
    if (typeof args === 'string' && args !== '') this.#addArguments(call, args)
  }

  #addArguments(call: Call, args: string): void {
    call.args += args
    // The input of a custom tool is a text within the arguments; it is reported when it is whole.
    if (!ownTool(this.#own, call.called).isCustom) {
      this.#listener.notifyPiece('response.function_call_arguments.delta', call.place, args)
    }
  }

  /** `status`: the status of items that were still being written. */
  end(status: Status): void {
    this.#endText(status)
    for (const call of this.#calls.values()) this.#endCall(call, status)
    this.#calls.clear()
  }

  #startHiddenThought(): TextItem {
    this.#endText('completed')
    return this.#startText('reasoning')
  }

  #startText(type: TextItem['type']): TextItem {
    const position = this.items.push(null) - 1
    const id = `${type === 'message' ? 'msg_' : OWN_THOUGHT}${this.#suffix}_${position}`
    const textItem: TextItem = { type, position, id, parts: [] }
    this.#openText = textItem
    this.#listener.emit('response.output_item.added', {
      output_index: position,
      item: itemOf(textItem, 'in_progress'),
    })
    return textItem
  }

  #endText(status: Status): void {
    const textItem = this.#openText
    if (!textItem) return
    this.#openText = null
    if (textItem.parts.length > 0) this.#endPart(textItem)
    this.#finish(textItem.position, itemOf(textItem, status))
  }

  #endPart(textItem: TextItem): void {
    const { kind, text, logprobs } = textItem.parts.at(-1)!
    const { end, member } = PARTS[kind]
    this.#listener.emit(end, { ...placeOf(textItem), [member]: text, ...(kind === 'output_text' ? { logprobs } : {}) })
    this.#emitPart('done', textItem)
  }

  #emitPart(what: 'added' | 'done', textItem: TextItem): void {
    const part = textItem.parts.at(-1)!
    const event = part.kind === 'summary_text' ? 'response.reasoning_summary_part' : 'response.content_part'
    this.#listener.emit(`${event}.${what}`, { ...placeOf(textItem), part: partItem(part) })
  }

  #startCall(index: number, id: unknown, called: string): Call {
    const position = this.items.push(null) - 1
    const itemId = `${ownTool(this.#own, called).isCustom ? 'ctc' : 'fc'}_${this.#suffix}_${position}`
    const place = { item_id: itemId, output_index: position }
    const call: Call = {
      type: 'call',
      position,
      id: itemId,
      callId: this.#callId(id, position),
      called,
      args: '',
      place,
    }
    this.#calls.set(index, call)
    this.#listener.emit('response.output_item.added', {
      output_index: position,
      item: this.#callItem(call, 'in_progress'),
    })
    return call
  }

  /** Some servers give none, or the same to each. */
  #callId(id: unknown, position: number): string {
    const given =
      typeof id === 'string' && id !== '' && !this.#callIds.has(id) ? id : `call_${this.#suffix}_${position}`
    this.#callIds.add(given)
    return given
  }

  #endCall(call: Call, status: Status): void {
    const { place } = call
    if (ownTool(this.#own, call.called).isCustom) {
      const input = customInput(call.args)
      this.#listener.emit('response.custom_tool_call_input.delta', { ...place, delta: input })
      this.#listener.emit('response.custom_tool_call_input.done', { ...place, input })
    } else {
      // A model that needs none may write none. Clients parse them as JSON.
      if (call.args.trim() === '' && status === 'completed') this.#addArguments(call, '{}')
      this.#listener.emit('response.function_call_arguments.done', {
        ...place,
        name: ownTool(this.#own, call.called).name,
        arguments: call.args,
      })
    }
    this.#finish(call.position, this.#callItem(call, status))
  }

  #callItem({ id, callId, called, args }: Call, status: Status | 'in_progress'): JsonObject {
    const { name, namespace, isCustom } = ownTool(this.#own, called)
    const said = status === 'in_progress' ? '' : isCustom ? customInput(args) : args
    return {
      id,
      type: isCustom ? 'custom_tool_call' : 'function_call',
      status,
      call_id: callId,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      [isCustom ? 'input' : 'arguments']: said,
    }
  }

  #finish(position: number, item: JsonObject): void {
    this.items[position] = item
    this.#listener.emit('response.output_item.done', { output_index: position, item })
  }
}

function placeOf({ id, position, parts }: TextItem): JsonObject {
  const { kind } = parts.at(-1)!
  return { item_id: id, output_index: position, [PARTS[kind].index]: parts.length - 1 }
}

function itemOf({ type, id, parts, state }: TextItem, status: Status | 'in_progress'): JsonObject {
  if (type === 'message') return { id, type, status, role: 'assistant', content: parts.map(partItem) }
  const isSummary = parts[0]?.kind === 'summary_text'
  return {
    id,
    type,
    status,
    summary: isSummary ? parts.map(partItem) : [],
    ...(isSummary ? {} : { content: parts.map(partItem) }),
    ...(state === undefined ? {} : { encrypted_content: state }),
  }
}

function partItem({ kind, text, logprobs }: Part): JsonObject {
  if (kind === 'output_text') return { type: kind, text, annotations: [], logprobs }
  return { type: kind, [PARTS[kind].member]: text }
}
