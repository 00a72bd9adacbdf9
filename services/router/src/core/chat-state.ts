/**
 * The state of reasoning in chat completions: out of responses, piece by piece, and back into the turns of a request.
 *
 * Google signs calls, and the last words of a text. OpenRouter has a list of details, which a stream sends in fragments.
 */

import { isObject, type JsonObject, objectsOf, parseExactly, wordOf } from '@gateway/contracts/json'
import { choicesOf, type Chunk } from './chat-chunk.ts'
import { STATE, type ChatStateForm, type PlacedValue, type TurnStates } from './reasoning-state.ts'
import { MOST_SEALED_BYTES } from './state-seal.ts'

/** Google's, of a call or of a whole message. */
interface Signature {
  on: 'call' | 'message'
  extra_content: unknown
}

/** OpenRouter's. */
interface Details {
  details: JsonObject[]
}

/** The pieces of a whole message. */
export function placedState(form: ChatStateForm, message: JsonObject): PlacedValue[] {
  const thoughts = lengthOf(message.reasoning_content)
  const text = lengthOf(message.content)
  if (form === 'details') {
    const details = objectsOf(message.reasoning_details)
    return details.length === 0 ? [] : [{ value: { details } satisfies Details, thoughts, text: 0, calls: 0 }]
  }
  const calls = objectsOf(message.tool_calls)
  const signed = calls.flatMap((call, at) =>
    isSigned(call) ? [{ value: signatureOf(call, 'call'), thoughts, text, calls: at }] : [],
  )
  return isSigned(message) ? [{ value: signatureOf(message, 'message'), thoughts, text, calls: 0 }, ...signed] : signed
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? text.length : 0
}

function isSigned({ extra_content: extra }: JsonObject): boolean {
  return isObject(extra)
}

function signatureOf({ extra_content }: JsonObject, on: Signature['on']): Signature {
  return { on, extra_content }
}

/** Reads the chunks of one stream, of its first choice. */
export class ChatStateReader {
  #form: ChatStateForm
  #details = new DetailList()

  constructor(form: ChatStateForm) {
    this.#form = form
  }

  /** The chunk with its state, in as many chunks as its state has places. The same chunk where it has none. */
  read(chunk: Chunk): Chunk[] {
    const [choice] = choicesOf(chunk)
    if (!choice || choice.index || !isObject(choice.delta)) return [chunk]
    const deltas = this.#form === 'details' ? this.#withDetails(choice, choice.delta) : withSignatures(choice.delta)
    if (deltas === null) return [chunk]
    return deltas.map((delta, at) => {
      const isLast = at === deltas.length - 1
      const own = { ...choice, delta, finish_reason: isLast ? choice.finish_reason : null }
      return { ...chunk, choices: [own] }
    })
  }

  /** The details are whole when something follows them. */
  #withDetails({ finish_reason: reason }: JsonObject, delta: JsonObject): JsonObject[] | null {
    for (const fragment of objectsOf(delta.reasoning_details)) this.#details.add(fragment)
    const isOver = reason != null || lengthOf(delta.content) > 0 || objectsOf(delta.tool_calls).length > 0
    const details = isOver ? this.#details.take() : []
    return details.length === 0 ? null : [{ ...delta, [STATE]: [{ details } satisfies Details] }]
  }
}

function withSignatures(delta: JsonObject): JsonObject[] | null {
  const calls = objectsOf(delta.tool_calls)
  if (!isSigned(delta) && !calls.some(isSigned)) return null
  const { tool_calls: _, ...words } = delta
  const deltas: JsonObject[] = Object.keys(words).length > 0 ? [words] : []
  if (isSigned(delta)) deltas.push({ [STATE]: [signatureOf(delta, 'message')] })
  for (const call of calls)
    deltas.push({ ...(isSigned(call) ? { [STATE]: [signatureOf(call, 'call')] } : {}), tool_calls: [call] })
  return deltas
}

/** One list out of fragments: those of one detail have its index, and the signature may come last, without a text. */
class DetailList {
  #list: JsonObject[] = []
  #byIndex = new Map<string, JsonObject>()
  #characters = 0

  add(fragment: JsonObject): void {
    // Beyond this nothing can be sealed, and a stream may go on for long.
    if (this.#characters > MOST_SEALED_BYTES) return
    for (const name of PIECES) this.#characters += lengthOf(fragment[name])
    const key = `${wordOf(fragment.type)} ${wordOf(fragment.index)}`
    const known =
      typeof fragment.index === 'number' && fragment.type !== 'reasoning.encrypted' ? this.#byIndex.get(key) : undefined
    if (known) return merge(known, fragment)
    const detail = { ...fragment }
    this.#list.push(detail)
    this.#byIndex.set(key, detail)
  }

  take(): JsonObject[] {
    const isTooLong = this.#characters > MOST_SEALED_BYTES
    const list = isTooLong ? [] : this.#list
    this.#list = []
    this.#byIndex.clear()
    if (!isTooLong) this.#characters = 0
    return list
  }
}

const PIECES = ['text', 'summary'] as const

function merge(detail: JsonObject, fragment: JsonObject): void {
  for (const [name, value] of Object.entries(fragment)) {
    const before = detail[name]
    if (value == null) continue
    if ((name === 'text' || name === 'summary') && typeof before === 'string' && typeof value === 'string')
      detail[name] = before + value
    else if (before == null || name === 'signature') detail[name] = value
  }
}

/** The messages with the state of their turns, in the members that the vendor gave it in. */
export function withChatState(
  messages: readonly JsonObject[],
  form: ChatStateForm | undefined,
  turnStates: TurnStates,
): readonly JsonObject[] {
  if (form === undefined) return messages
  return messages.map((message, index) => {
    const pieces = turnStates[index]
    if (pieces === undefined) return message
    return form === 'details' ? withOwnDetails(message, pieces) : withOwnSignatures(message, pieces)
  })
}

/** A client that has kept the details itself sends the same ones. */
function withOwnDetails(message: JsonObject, pieces: readonly { value: unknown }[]): JsonObject {
  if (Array.isArray(message.reasoning_details)) return message
  return { ...message, reasoning_details: pieces.flatMap(({ value }) => (value as Details).details) }
}

function withOwnSignatures(message: JsonObject, pieces: readonly { value: unknown; calls: number }[]): JsonObject {
  const calls = objectsOf(message.tool_calls)
  let own = message
  for (const { value, calls: position } of pieces) {
    const { on, extra_content } = value as Signature
    if (on === 'message') own = isSigned(own) ? own : { ...own, extra_content }
    else if (calls[position] && !isSigned(calls[position])) calls[position] = { ...calls[position], extra_content }
  }
  return calls.length === 0 ? own : { ...own, tool_calls: calls }
}

/** Members of a turn that hold state, or the thoughts beside it. */
const MEMBERS: Record<ChatStateForm, readonly string[]> = {
  signatures: ['extra_content'],
  details: ['reasoning_details', 'reasoning'],
}
/** Each of them begins so. A scan of a coding tool's request for a name takes 20 µs. */
const BEGIN: Record<ChatStateForm, Buffer> = {
  signatures: Buffer.from('"extra_content":'),
  details: Buffer.from('"reasoning'),
}

/** The request without the state of other vendors, which clients of chat may keep; the same bytes where it has none. */
export function withoutAlienStates(body: Buffer, forms: readonly ChatStateForm[] = []): Buffer {
  const members = forms.flatMap((form) => (body.includes(BEGIN[form]) ? MEMBERS[form] : []))
  if (!members.some((name) => body.includes(`"${name}":`))) return body
  const without = (value: unknown) => (isObject(value) ? withoutMembers(value, members) : value)
  const chat = parseExactly(body.toString('utf8')) as JsonObject
  const messages = objectsOf(chat.messages).map((message) => {
    if (message.role !== 'assistant') return message
    const { tool_calls: calls, ...rest } = withoutMembers(message, members)
    return { ...rest, ...(Array.isArray(calls) ? { tool_calls: calls.map(without) } : {}) }
  })
  return Buffer.from(JSON.stringify({ ...chat, messages }))
}

function withoutMembers(object: JsonObject, members: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !members.includes(name)))
}
