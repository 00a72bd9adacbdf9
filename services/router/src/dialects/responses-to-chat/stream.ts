/**
 * Chat completion chunks as the events of a streamed response.
 *
 * The events share JSON that is written once. It holds the place of a text for all its pieces, and the settings for
 * each event that holds a whole response. A coding tool's settings hold its tools, which are most of its request.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { bytesOf } from '../../core/bytes-of.ts'
import { choicesOf, isFinished } from '../../core/chat-chunk.ts'
import { type JsonObject, isObject } from '@gateway/contracts/json'
import type { Identity } from '../../core/complete-response.ts'
import type { ClientStream } from '../via-chat.ts'
import { addDelta, endOf, hasRefused, modelOf, responseOf, writeUsage, type End } from './response.ts'
import { Output, type Listener } from './output.ts'
import type { Echo } from './request.ts'

export class ResponseEvents implements ClientStream, Listener {
  #identity: Identity
  /** For reading deltas. */
  #context: Parameters<typeof addDelta>[3]
  #output: Output
  #sequence = 0
  /** Written since the last call, in pieces: the settings are too long to be joined to the text around them. */
  #pieces: string[] = []
  #written = ''
  #hasBegun = false
  #hasRefused = false
  #end: End | null = null
  /** JSON, without its opening brace. */
  #settings: string
  #place: JsonObject | null = null
  /** JSON, without its braces. */
  #placeText = ''

  constructor(echo: Echo, identity: Identity) {
    this.#identity = identity
    this.#context = { wantsSummary: echo.wantsSummary, identity }
    this.#output = new Output(this, echo.own, identity.id)
    this.#settings = JSON.stringify(echo.settings).slice(1)
  }

  take(chunk: JsonObject): Buffer | null {
    if (!this.#hasBegun) this.#identity = { ...this.#identity, ...modelOf(chunk) }
    const [choice] = choicesOf(chunk)
    if (choice && this.#end === null) this.#read(choice)
    return this.#written === '' && this.#pieces.length === 0 ? null : this.#take()
  }

  close(usage: TokenUsage): Buffer {
    const end = this.#end ?? this.#finish(undefined)
    const response = { ...responseOf(this.#identity, end, this.#output.items), usage: writeUsage(usage) }
    const type = end.status === 'incomplete' ? 'response.incomplete' : 'response.completed'
    this.#emitResponse(type, JSON.stringify(response))
    return this.#take()
  }

  #read(choice: JsonObject): void {
    const { delta, logprobs } = choice
    if (isObject(delta)) addDelta(this.#output, delta, logprobs, this.#context)
    this.#hasRefused ||= hasRefused(delta)
    if (isFinished(choice)) this.#end = this.#finish(choice.finish_reason)
  }

  #finish(reason: unknown): End {
    const end = endOf(reason, this.#hasRefused)
    this.#begin()
    this.#output.end(end.status)
    return end
  }

  /** The backend may still fail without a trace before its first content, so nothing is written until then. */
  #begin(): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    const opening = responseOf(this.#identity, { status: 'in_progress', incomplete: null }, [])
    const response = JSON.stringify({ ...opening, usage: null })
    this.#emitResponse('response.created', response)
    this.#emitResponse('response.in_progress', response)
  }

  emit(type: string, members: JsonObject): void {
    this.#write(type, `${JSON.stringify(members).slice(1)}\n\n`)
  }

  notifyPiece(type: string, place: JsonObject, piece: string): void {
    if (place !== this.#place) {
      this.#place = place
      this.#placeText = JSON.stringify(place).slice(1, -1)
    }
    this.#write(type, `${this.#placeText},"delta":${JSON.stringify(piece)}}\n\n`)
  }

  /** `response`: JSON, but for its settings. */
  #emitResponse(type: string, response: string): void {
    this.#write(type, `"response":${response.slice(0, -1)},`)
    this.#pieces.push(this.#written, this.#settings)
    this.#written = '}\n\n'
  }

  /** `rest`: the members behind the number. */
  #write(type: string, rest: string): void {
    this.#begin()
    this.#written += `event: ${type}\ndata: {"type":"${type}","sequence_number":${this.#sequence++},${rest}`
  }

  #take(): Buffer {
    const text = this.#written
    this.#written = ''
    return this.#pieces.length === 0 ? Buffer.from(text) : bytesOf([...this.#pieces.splice(0), text])
  }
}
