/**
 * Chat completion chunks as the events of a streamed response.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { choicesOf, isFinished } from '../../core/chat-chunk.ts'
import type { JsonObject } from '../../core/plain-answer.ts'
import { isObject } from '../../core/read-usage.ts'
import type { Identity } from '../../core/whole-record.ts'
import type { FrontStream } from '../over-chat.ts'
import { addDelta, endOf, hasRefused, modelOf, responseOf, writeUsage, type End } from './answer.ts'
import { Output } from './output.ts'
import type { Echo } from './request.ts'

export class ResponseEvents implements FrontStream {
  #echo: Echo
  #identity: Identity
  #output: Output
  #sequence = 0
  /** Written since the last call. */
  #written = ''
  #hasBegun = false
  #hasRefused = false
  #end: End | null = null

  constructor(echo: Echo, identity: Identity) {
    this.#echo = echo
    this.#identity = identity
    this.#output = new Output((type, members) => this.#tell(type, members), echo.own, identity.id)
  }

  take(chunk: JsonObject): Buffer | null {
    if (!this.#hasBegun) this.#identity = { ...this.#identity, ...modelOf(chunk) }
    const [choice] = choicesOf(chunk)
    if (choice && this.#end === null) this.#read(choice)
    return this.#written === '' ? null : this.#take()
  }

  close(usage: TokenUsage): Buffer {
    const end = this.#end ?? this.#finish(undefined)
    const response = responseOf(this.#identity, this.#echo.settings, end.status, this.#output.items, end.incomplete)
    const whole = { ...response, usage: writeUsage(usage) }
    this.#tell(end.status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response: whole })
    return this.#take()
  }

  #read(choice: JsonObject): void {
    const { delta, logprobs } = choice
    if (isObject(delta)) addDelta(this.#output, delta, logprobs, this.#echo)
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
    const response = responseOf(this.#identity, this.#echo.settings, 'in_progress', [], null)
    this.#tell('response.created', { response })
    this.#tell('response.in_progress', { response })
  }

  #tell(type: string, members: JsonObject): void {
    this.#begin()
    const event = { type, sequence_number: this.#sequence++, ...members }
    this.#written += `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`
  }

  #take(): Buffer {
    const bytes = Buffer.from(this.#written)
    this.#written = ''
    return bytes
  }
}
