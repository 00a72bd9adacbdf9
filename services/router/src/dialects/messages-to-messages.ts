/**
 * Anthropic's Messages API between a client and a target that both speak it. Bytes travel untouched, so prompt caching,
 * thinking signatures and the vendor's own tools survive. The router reads along, and adds the missing parts.
 *
 * The events that end a message wait for the usage: `usageChunk` writes them.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { parseChunk } from '../core/chat-chunk.ts'
import { NO_FEATURES, withoutMembers } from '../core/refused-features.ts'
import { stripParameters } from '../core/strip-parameters.ts'
import { type JsonObject, isObject, parseExactly, wordOf } from '@gateway/contracts/json'
import { responseId, isResponseId } from '../core/response-id.ts'
import type { SseEvent } from '@gateway/sse/parse-events'
import { fitChat } from '../core/parameter-support.ts'
import type { Identity } from '../core/complete-response.ts'
import type { Dialect, PlainResponse, ClientRequest, StreamOptions, StreamReading } from './dialect.ts'
import {
  parseMessage,
  textOfMessage,
  readMessagesUsage,
  writeDeltaUsage,
  writeMessagesUsage,
} from './messages-to-messages/response.ts'
import { errorMessageOf, faultOf, readMessagesError } from './messages-to-messages/errors.ts'
import { StartSplitter } from './messages-to-messages/split-starts.ts'
import { withoutUnsigned } from './messages-to-messages/unsigned.ts'
import { MessageWatch } from './messages-to-messages/watch-message.ts'
import { prependMembers } from './chat-to-chat.ts'
import { withoutUnpriced } from './unpriced.ts'
import { PLAIN_POLICIES } from '../vendors/policies.ts'

export const messagesToMessages: Dialect = {
  headers: (apiKey) => ({ 'anthropic-version': '2023-06-01', ...(apiKey ? { 'x-api-key': apiKey } : {}) }),
  request: (clientRequest) => ({ path: '/messages', ...writeBody(clientRequest) }),
  readBackendResponse: (_, bytes, identity) => readBackendResponse(bytes, identity),
  textOf: textOfMessage,
  withUsage: ({ json }, usage) => Buffer.from(JSON.stringify({ ...json, usage: writeMessagesUsage(usage) })),
  readStream: (options) => new MessagesPassing(options),
  readErrorBody: readMessagesError,
}

/** The parameters of sampling have the same names in chat, so a refused one is left out by the same rules. */
function writeBody(clientRequest: ClientRequest): { body: Buffer; dropped: string[] } {
  const { model, stream, form, refusedFeatures = NO_FEATURES, policy = PLAIN_POLICIES.messages } = clientRequest
  const ofOne = withoutUnpriced(clientRequest)
  const accepted = withoutMembers(ofOne.body, refusedFeatures)
  const signed = withoutUnsigned(accepted.body, clientRequest.states)
  const fitted = form.length === 0 ? { body: signed.body, dropped: [] } : fitChat(signed.body, form)
  const stripped = stripParameters(fitted.body, policy)
  const members = stream ? { model, stream } : { model }
  return {
    body: prependMembers(members, stripped.body),
    dropped: [ofOne, accepted, fitted, signed, stripped].flatMap(({ dropped }) => dropped).toSorted(),
  }
}

function readBackendResponse(bytes: Buffer, identity: Identity): PlainResponse {
  const json = parseMessage(bytes)
  const full = completeMessage(json, identity)
  const usage = readMessagesUsage(json.usage)
  return full ? { bytes: Buffer.from(JSON.stringify(full)), json: full, usage } : { bytes, json, usage }
}

/** Null where nothing is missing. */
function completeMessage(message: JsonObject, { id, model }: Identity): JsonObject | null {
  const full = { id, type: 'message', role: 'assistant', model, stop_sequence: null }
  const gaps = Object.entries(full).filter(([name]) => message[name] === undefined || message[name] === '')
  const named = { ...Object.fromEntries(gaps), ...idGap(message.id, id) }
  return Object.keys(named).length === 0 ? null : { ...message, ...named }
}

/** Other servers of the API than Anthropic's have ids of their own kind. */
function idGap(reported: unknown, own: string): JsonObject | null {
  if (isResponseId('messages', reported)) return null
  return { id: responseId('messages', typeof reported === 'string' && reported !== '' ? reported : own) }
}

class MessagesPassing implements StreamReading {
  #watch = new MessageWatch()
  readonly progress = this.#watch.progress
  #identity: Identity
  #starts = new StartSplitter()
  /** Its index; null between two of them. */
  #openBlock: unknown = null
  /** From the first event that names a reason to stop. */
  #closing: SseEvent[] = []

  constructor({ identity }: StreamOptions) {
    this.#identity = identity
  }

  read(sent: SseEvent): Buffer | null {
    const { name, data, raw } = sent
    if (name === 'error') throw faultOf(errorMessageOf(data))
    const event = parseChunk(data)
    if (this.#watch.note(event)) this.progress.begun = true
    if (event.type === 'content_block_start') this.#openBlock = event.index
    else if (event.type === 'content_block_stop') this.#openBlock = null
    if (this.progress.complete) {
      this.#closing.push(sent)
      return this.#starts.flush()
    }
    return event.type === 'message_start' ? this.#start(sent) : (this.#starts.split(event, sent) ?? raw)
  }

  usageChunk(usage: TokenUsage): Buffer {
    const isCounted = this.progress.usage !== null && !usage.estimated
    const closing = this.#closing.flatMap(({ data, raw }) => {
      const event = parseExactly(data) as JsonObject
      if (event.type === 'message_stop') return []
      const lacksUsage = event.type === 'message_delta' && (!isCounted || event.usage === undefined)
      return [lacksUsage ? writeEvent({ ...event, usage: writeDeltaUsage(usage) }) : raw]
    })
    // In the form by which the edge knows it, however the backend wrote it.
    return Buffer.concat([...closing, writeEvent({ type: 'message_stop' })])
  }

  cut(): Buffer {
    this.progress.complete = this.progress.done = true
    const waiting = this.#starts.flush()
    const open = this.#openBlock === null ? [] : [writeEvent({ type: 'content_block_stop', index: this.#openBlock })]
    const data = JSON.stringify({ type: 'message_delta', delta: { stop_reason: 'max_tokens', stop_sequence: null } })
    this.#closing = [{ name: 'message_delta', data, raw: Buffer.from('') }]
    return Buffer.concat([...(waiting === null ? [] : [waiting]), ...open])
  }

  #start({ data, raw }: SseEvent): Buffer {
    const event = parseExactly(data) as JsonObject
    if (!isObject(event.message)) return raw
    const { id, model } = this.#identity
    const message = event.message
    const gaps = { ...(message.model ? null : { model }), ...idGap(message.id, id) }
    return Object.keys(gaps).length === 0 ? raw : writeEvent({ ...event, message: { ...message, ...gaps } })
  }
}

function writeEvent(event: JsonObject): Buffer {
  return Buffer.from(`event: ${wordOf(event.type)}\ndata: ${JSON.stringify(event)}\n\n`)
}
