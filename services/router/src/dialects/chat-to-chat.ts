/**
 * OpenAI's own wire format (vLLM, SGLang, llama.cpp, Ollama, TGI, OpenAI). The bus carries the format that the backend
 * speaks. So a request is the client's text with three members in front, and a response is the backend's bytes.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import {
  choicesOf,
  countsOneChoice,
  errorEvent,
  errorIn,
  generatedText,
  hasContent,
  isFinished,
  parseChunk,
  writeChunk,
  type Chunk,
  readUsage,
  writeUsage,
  type UsageRules,
} from '../core/chat-chunk.ts'
import { ContentPattern } from '../core/content-pattern.ts'
import { ChatStateReader, placedState, withChatState, withoutAlienStates } from '../core/chat-state.ts'
import { keepsState, STATE, type ChatStateForm } from '../core/reasoning-state.ts'
import { writeImagesBody } from '../core/image-form.ts'
import { capName, fitChat, refuses } from '../core/parameter-support.ts'
import {
  checkChatResponse,
  generatedTextOf,
  parseResponseBody,
  parseObject,
  withUsage,
} from '../core/plain-response.ts'
import { isObject, type JsonObject, isReadExactly, parseExactly } from '@gateway/contracts/json'
import { responseId, isResponseId, withResponseId } from '../core/response-id.ts'
import type { FinishReasons } from '../core/finish-reasons.ts'
import { readErrorBody } from '../core/error-response.ts'
import {
  StreamedToolCalls,
  completeResponse,
  completeChunk,
  completeUsage,
  type ResponseNames,
  type Identity,
} from '../core/complete-response.ts'
import type { SseEvent } from '@gateway/sse/parse-events'
import { stripParameters } from '../core/strip-parameters.ts'
import { writeToolCalls } from '../core/tool-calls.ts'
import { plain } from '../vendors/plain.ts'
import type { VendorProfile } from '../vendors/profile.ts'
import { PLAIN_POLICIES } from '../vendors/policies.ts'
import {
  noProgress,
  recordUsage,
  addText,
  type ChatDialect,
  type ChatReading,
  type PlainResponse,
  type ClientRequest,
  type StreamOptions,
} from './dialect.ts'
import { withoutUnpriced } from './unpriced.ts'

const PATHS: Record<JobKind, string> = {
  chat: '/chat/completions',
  embeddings: '/embeddings',
  images: '/images/generations',
}

export const chatToChat: ChatDialect = {
  headers: (apiKey): Record<string, string> => (apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
  request: (clientRequest) => ({ path: PATHS[clientRequest.kind], ...writeBody(clientRequest) }),
  readBackendResponse,
  textOf: generatedTextOf,
  withUsage: ({ bytes, json }, usage, kind) => withUsage(bytes, json, usage, kind),
  readStream: (options) => new OpenAiStream(options),
  withStates: (messages, turnStates, { reasoningState }) => withChatState(messages, reasoningState, turnStates),
  readErrorBody: (body) => (readErrorBody(body) ? body : null),
}

function writeBody(clientRequest: ClientRequest): { body: Buffer; dropped: string[] } {
  const { form, profile = plain, policy = PLAIN_POLICIES[clientRequest.kind] } = clientRequest
  if (clientRequest.kind === 'images') {
    const { body, dropped } = stripParameters(clientRequest.body, policy)
    return { body: Buffer.from(writeImagesBody(body, clientRequest.model, form)), dropped }
  }
  const members: Record<string, unknown> = { model: clientRequest.model }
  if (clientRequest.dimensions !== undefined) members.dimensions = clientRequest.dimensions
  if (clientRequest.stream) {
    members.stream = true
    if (!refuses(form, 'stream_options')) members.stream_options = { include_usage: true }
  }
  const cap = clientRequest.maxTokens === undefined ? null : capName(form)
  if (cap) members[cap] = clientRequest.maxTokens
  const { body: ofOne, dropped: others } = withoutUnpriced(clientRequest)
  const called = clientRequest.kind === 'chat' ? writeTurns(ofOne, clientRequest, profile) : ofOne
  const fitted = form.length === 0 ? { body: called, dropped: [] } : fitChat(called, form)
  const names = fitted.body === clientRequest.body ? clientRequest.names : undefined
  const { body, dropped } = stripParameters(fitted.body, policy, names)
  return { body: prependMembers(members, body), dropped: [...new Set([...others, ...fitted.dropped, ...dropped])] }
}

/** The calls as the vendor takes them. */
function writeTurns(body: Buffer, clientRequest: ClientRequest, profile: VendorProfile): Buffer {
  const own = withoutAlienStates(body, clientRequest.alienStates)
  return writeToolCalls(own, clientRequest.model, profile.toolCalls)
}

const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** Writes members in front of a JSON object's own, without parsing it. */
export function prependMembers(members: Record<string, unknown>, object: Buffer): Buffer {
  const start = object.indexOf(OPENING_BRACE) + 1
  const prefix = JSON.stringify(members).slice(0, -1)
  const isEmpty = object[skipWhitespace(object, start)] === CLOSING_BRACE
  return Buffer.concat([Buffer.from(isEmpty ? prefix : `${prefix},`), object.subarray(start)])
}

function skipWhitespace(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0a || bytes[at] === 0x0d) at++
  return at
}

function readBackendResponse(kind: JobKind, bytes: Buffer, identity: Identity): PlainResponse {
  const json = parseResponseBody(bytes, identity.finishReasons)
  if (kind === 'chat') checkChatResponse(json)
  const usage = readUsage(json.usage, identity.usageRules)
  const full = completeResponse(kind, json, identity) && completeResponse(kind, exactly(kind, json, bytes), identity)
  const read = full ? { bytes: Buffer.from(JSON.stringify(full)), json: full, usage } : { bytes, json, usage }
  return kind === 'chat' && identity.stateForm !== undefined && keepsState(identity)
    ? withState(read, identity.stateForm)
    : read
}

/** The client's side takes the state out of it again. */
function withState(response: PlainResponse, form: ChatStateForm): PlainResponse {
  const [first] = choicesOf(response.json)
  if (!first || !isObject(first.message) || placedState(form, first.message).length === 0) return response
  const json = parseObject(response.bytes, parseExactly)
  const [choice, ...others] = choicesOf(json)
  const message = choice!.message as JsonObject
  const stated = { ...choice, message: { ...message, [STATE]: placedState(form, message) } }
  return { ...response, json: { ...json, choices: [stated, ...others] } }
}

/**
 * A response that the router writes again keeps its numbers. Vectors are doubles by contract, and too many to keep the
 * text of each.
 */
function exactly(kind: JobKind, json: JsonObject, bytes: Buffer): JsonObject {
  return kind === 'chat' ? parseObject(bytes, parseExactly) : json
}

class OpenAiStream implements ChatReading {
  readonly progress = noProgress()
  #includeUsage: boolean
  #usageRules: UsageRules | undefined
  #finishReasons: FinishReasons | undefined
  #choices: number
  #finished = new Set<unknown>()
  #unfinished = new Set<unknown>()
  /** With the backend's own details: of its cache, its reasoning, its cost. */
  #reported: Record<string, unknown> | null = null
  /** Tokens of the choices that were counted each by itself. */
  #countedApart = 0
  /** The event that holds nothing else. */
  #usageEvent: Buffer | null = null
  #calls: StreamedToolCalls
  /** The last chunk names those that lack a name: chunks of one stream have one `id`. */
  #last: Chunk & ResponseNames
  #isFirst = true
  /** The first chunk, where it holds neither a name nor a choice (Azure's filters): it waits for the second one's name. */
  #nameless: Chunk | null = null
  /** The chunk in the backend's own form. */
  #own: Chunk | null = null
  /** Where only the id is another one than the backend's. */
  #ownBytes: Buffer | null = null
  #states: ChatStateReader | null
  #pattern = new ContentPattern()
  /** The chunk of the pattern. */
  #alike: Chunk | null = null

  constructor({ includeUsage, choices, identity }: StreamOptions) {
    const { usageRules, finishReasons, states, stateKind, stateForm, ...name } = identity
    this.#states = stateForm !== undefined && keepsState({ states, stateKind }) ? new ChatStateReader(stateForm) : null
    this.#includeUsage = includeUsage
    this.#usageRules = usageRules
    this.#finishReasons = finishReasons
    this.#choices = choices
    this.#last = name
    this.#calls = new StreamedToolCalls(name.id)
  }

  /** A chunk that is whole keeps its bytes. */
  read(event: SseEvent): Buffer | null {
    const text = this.#textAlone(event)
    if (text === null || this.#states !== null) return this.write(this.#chunks(event, text), event)
    addText(this.progress.text, text)
    return event.raw
  }

  write(chunks: readonly Chunk[], event: SseEvent): Buffer | null {
    if (chunks.length === 1 && chunks[0] === this.#own) return this.#ownBytes ?? event.raw
    return chunks.length > 0 ? Buffer.concat(chunks.map(writeChunk)) : null
  }

  chunks(event: SseEvent): Chunk[] {
    return this.#chunks(event, this.#textAlone(event))
  }

  /** The text of a chunk that brings nothing else, where an earlier one was like it; null for any other. */
  #textAlone({ name, data }: SseEvent): string | null {
    return name === null ? this.#pattern.textIn(data) : null
  }

  #chunks(event: SseEvent, text: string | null): Chunk[] {
    const chunk = text === null ? this.#take(event) : this.#withText(text)
    if (chunk === null) return []
    if (this.#nameless === null) {
      const chunks = this.#states === null ? [chunk] : this.#states.read(chunk)
      if (text === null && chunks.length === 1 && chunks[0] === this.#own && this.#ownBytes === null)
        this.#notePattern(chunk, event.data)
      return chunks
    }
    const named = completeChunk(this.#nameless, this.#last)!
    this.#nameless = null
    return [named, chunk]
  }

  /** The earlier chunk with this text. */
  #withText(text: string): Chunk {
    addText(this.progress.text, text)
    const [choice] = choicesOf(this.#alike!)
    this.#own = { ...this.#alike, choices: [{ ...choice, delta: { ...(choice!.delta as JsonObject), content: text } }] }
    this.#ownBytes = null
    return this.#own
  }

  /** A chunk that brings text, and nothing else that is read here. */
  #notePattern(chunk: Chunk, data: string): void {
    const choices = choicesOf(chunk)
    const [choice] = choices
    if (choices.length !== 1 || !choice || isFinished(choice) || isObject(choice.usage) || !hasContent(choice)) return
    if (this.#usageRules?.streamMember !== undefined || !isObject(choice.delta)) return
    const { content } = choice.delta
    if (typeof content !== 'string' || generatedText(choice.delta) !== content) return
    if (this.#pattern.note(data, content)) this.#alike = chunk
  }

  #take(event: SseEvent): Chunk | null {
    const { progress } = this
    if (event.data === '[DONE]') {
      progress.done = progress.complete = true
      return this.#lastWord()
    }
    // A sign of life, with any data in it.
    if (event.name === 'ping') return null
    if (event.name === 'error') throw errorEvent(event.data)
    const chunk = parseChunk(event.data)
    const fault = errorIn(chunk, this.#finishReasons)
    if (fault) throw fault
    if (this.#isFirst) {
      this.#isFirst = false
      if (!chunk.id && choicesOf(chunk).length === 0 && chunk.usage == null) {
        this.#nameless = chunk
        return null
      }
    }
    let own = this.#rename(chunk, event)
    let gaps = completeChunk(own, this.#last, this.#finishReasons)
    if ((gaps !== null || choicesOf(chunk).some(hasCalls)) && !isReadExactly(event.data)) {
      own = parseExactly(event.data) as Chunk
      gaps = completeChunk(own, this.#last, this.#finishReasons)
    }
    this.#own = own
    const named = gaps ?? own
    const full = this.#calls.complete(named) ?? named
    this.#last = full as Chunk & ResponseNames
    const choices = choicesOf(chunk)
    for (const choice of choices) this.#readChoice(choice)
    // Moonshot's, beside its last finish reason (earendil-works/pi#2017, 2026-03-10).
    const [first] = choices
    if (first && isObject(first.usage)) this.#readUsage(first.usage)
    this.#readUsageBeside(chunk)
    if (!isObject(chunk.usage)) return full
    const isOfOne = this.#choices > 1 && choices.length === 0 && countsOneChoice(chunk)
    this.#readUsage(isOfOne ? this.#withFormerChoices(chunk.usage) : chunk.usage)
    // Some servers count in every chunk, or in that of the finish reason. Clients expect one count, at the end, if they
    // requested it.
    if (choices.length > 0) return { ...full, usage: this.#includeUsage ? null : undefined }
    const isComplete = full === own && this.#reported === chunk.usage
    this.#usageEvent = isComplete ? (this.#ownBytes ?? event.raw) : writeChunk({ ...full, usage: this.#reported })
    return null
  }

  /** Servers with ids of their own kind write them into each chunk, and nothing else of it needs another form. */
  #rename(chunk: Chunk, { raw }: SseEvent): Chunk {
    const { id } = chunk
    this.#ownBytes = null
    if (typeof id !== 'string' || id === '' || isResponseId('chat', id)) return chunk
    const own = responseId('chat', id)
    this.#ownBytes = withResponseId(raw, id, own)
    return this.#ownBytes === null ? chunk : { ...chunk, id: own }
  }

  /** Some servers say that they are done, and not why (openai/openai-node#1292, 2025-01-30). Clients wait for the reason. */
  #lastWord(): Chunk | null {
    if (this.#unfinished.size === 0) return null
    const choices = [...this.#unfinished].map((index) => {
      return { index, delta: {}, finish_reason: this.#calls.hasCalls(index) ? 'tool_calls' : 'stop' }
    })
    return completeChunk({ choices }, this.#last)
  }

  cut(): Buffer {
    return writeChunk(this.cutChunk())
  }

  cutChunk(): Chunk {
    this.progress.complete = this.progress.done = true
    // The figures so far are of a part of the response, in any of its events.
    this.#usageEvent = null
    const open = this.#unfinished.size > 0 ? [...this.#unfinished] : [0]
    const choices = open.map((index) => ({ index, delta: {}, finish_reason: 'length' }))
    return completeChunk({ choices }, this.#last)!
  }

  #withFormerChoices(reported: Record<string, unknown>): Record<string, unknown> {
    const usage = readUsage(reported, this.#usageRules)
    if (usage === null) return reported
    this.#countedApart += usage.completionTokens
    const { completion_tokens, total_tokens } = writeUsage({ ...usage, completionTokens: this.#countedApart }, 'chat')
    return { ...reported, completion_tokens, total_tokens }
  }

  #readUsage(reported: Record<string, unknown>): void {
    const usage = readUsage(reported, this.#usageRules)
    if (usage === null) return
    recordUsage(this.progress, usage)
    this.#reported = completeUsage(reported, 'chat', this.#usageRules) ?? reported
    this.#usageEvent = null
  }

  #readUsageBeside(chunk: Chunk): void {
    const member = this.#usageRules?.streamMember
    if (member === undefined || !isObject(chunk[member])) return
    const { usage } = chunk[member]
    if (isObject(usage)) this.#readUsage(usage)
  }

  #readChoice(choice: Record<string, unknown>): void {
    const { progress } = this
    addText(progress.text, generatedText(choice.delta))
    if (isFinished(choice)) {
      this.#finished.add(choice.index)
      this.#unfinished.delete(choice.index)
      progress.complete ||= this.#finished.size >= this.#choices
    }
    const isMore = hasContent(choice)
    if (isMore && !this.#finished.has(choice.index)) this.#unfinished.add(choice.index)
    if (!progress.begun) progress.begun = isFinished(choice) || isMore
  }

  /** The backend's own, where it is that of the whole response. */
  usageChunk(usage: TokenUsage): Buffer {
    const isReported = this.#reported !== null && !usage.estimated
    if (isReported && this.#usageEvent !== null) return this.#usageEvent
    const { id, created, model } = this.#last
    const chunk = {
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [],
      usage: isReported ? this.#reported : writeUsage(usage, 'chat'),
    }
    return writeChunk(chunk)
  }
}

function hasCalls({ delta }: Record<string, unknown>): boolean {
  return isObject(delta) && delta.tool_calls != null
}
