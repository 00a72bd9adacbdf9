/**
 * Backends without a network, on the timers of the process, which a test may have replaced. The router's exchanges get
 * the callbacks that undici would call. Each backend has a mood, which a test changes at any moment.
 */

import type { BackendConfig } from '@gateway/contracts/config'
import type { Dispatcher } from 'undici'
import type { Connections } from '../src/clients/connections.ts'
import { chunk, completion, DONE, ROLE, STOP, USAGE_CHUNK } from './http-backend.ts'

export type Mood =
  | 'well'
  /** Nobody listens. Running responses are reset when it begins. */
  | 'refuses'
  | 'fails'
  | 'denies'
  /** Takes requests and says nothing. */
  | 'hangs'
  /** Requests a pause of four seconds. */
  | 'limits'
  /** Dies after its first content. */
  | 'breaks'
  /** Begins later than any first byte may. */
  | 'thinks'
  /** Pauses after its first content for longer than silence may last. */
  | 'stalls'
  /** Serves, but its key may not list models. */
  | 'hides'

export interface SimulatedBackend {
  mood: Mood
  /** By `performance.now()`: since when it serves every request; Infinity while it does not. */
  wellSinceMs: number
  /** It has been in no other mood, not even between two looks at it. */
  wasAlwaysWell: boolean
  running: number
  change(mood: Mood): void
}

/** A client's options for the backend, as the text of its message. */
export interface Options {
  lastsMs: number
  /** Distinguishes requests: those with the same number are repeats of one. */
  number?: number
  /** No backend survives the request: it fails, drops the connection, sends nonsense, or dies after the first content. */
  poison?: Poison
}

export const POISONS = ['fails', 'drops', 'garbles', 'breaks'] as const
export type Poison = (typeof POISONS)[number]

const CONNECTED_AFTER_MS = 1
const BEGINS_AFTER_MS = 10
const THINKS_MS = 9_000
const STALLS_MS = 8_000
const BETWEEN_PIECES_MS = 2_000

/** A backend's words, by the dialect of the request. */
interface Words {
  plain: string
  first: string
  piece(text: string): string
  last: string
}

const CHAT: Words = {
  plain: JSON.stringify(completion()),
  first: ROLE + chunk({ content: 'Hello' }),
  piece: (content) => chunk({ content }),
  last: STOP + USAGE_CHUNK + DONE,
}

const event = (type: string, members: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
const textDelta = (text: string) => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
const ENDED = { stop_reason: 'end_turn', stop_sequence: null }
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }

const MESSAGES: Words = {
  plain: JSON.stringify({
    ...MESSAGE,
    ...ENDED,
    content: [{ type: 'text', text: 'Hello' }],
    usage: { input_tokens: 9, output_tokens: 3 },
  }),
  first:
    event('message_start', { message: { ...MESSAGE, content: [], usage: { input_tokens: 9, output_tokens: 1 } } }) +
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    textDelta('Hello'),
  piece: textDelta,
  last:
    event('content_block_stop', { index: 0 }) +
    event('message_delta', { delta: ENDED, usage: { output_tokens: 3 } }) +
    event('message_stop'),
}

const serves = (mood: Mood): boolean => mood === 'well' || mood === 'hides'

export class SimulatedNetwork {
  readonly backends = new Map<string, SimulatedBackend>()
  /** Attempts by request. */
  readonly attempts = new Map<string, { running: number; ended: number }>()
  /** The backends that were called over connections that their router had closed. */
  readonly afterClose: string[] = []
  #resets = new Map<string, Set<() => void>>()

  /** The connections of one router to the backend. */
  readonly connect = ({ id }: BackendConfig): Connections => {
    this.#backend(id)
    let isClosed = false
    return {
      dispatch: (options, handler) => {
        if (isClosed && options.method !== 'GET') this.afterClose.push(id)
        this.#dispatch(id, options, handler)
        return true
      },
      close: () => {
        isClosed = true
        return Promise.resolve()
      },
    }
  }

  #backend(id: string): SimulatedBackend {
    const known = this.backends.get(id)
    if (known) return known
    const resets = new Set<() => void>()
    this.#resets.set(id, resets)
    const backend: SimulatedBackend = {
      mood: 'well',
      wellSinceMs: 0,
      wasAlwaysWell: true,
      running: 0,
      change(mood) {
        if (mood !== 'well') backend.wasAlwaysWell = false
        if (!serves(mood)) backend.wellSinceMs = Infinity
        else if (!serves(backend.mood)) backend.wellSinceMs = performance.now()
        backend.mood = mood
        if (mood === 'refuses') for (const reset of [...resets]) reset()
      },
    }
    this.backends.set(id, backend)
    return backend
  }

  #dispatch(id: string, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const backend = this.#backend(id)
    if (options.method === 'GET') return new Call(handler).play(probeResponse(backend.mood))
    const body = JSON.parse((options.body as Buffer).toString()) as {
      stream?: boolean
      messages: { content: string | { text: string }[] }[]
    }
    const { content } = body.messages[0]!
    const wanted = JSON.parse(typeof content === 'string' ? content : content[0]!.text) as Options
    const words = options.path.endsWith('/messages') ? MESSAGES : CHAT
    const requestId = (options.headers as Record<string, string>)['x-request-id']!
    const attempt = this.attempts.get(requestId) ?? { running: 0, ended: 0 }
    this.attempts.set(requestId, attempt)
    const resets = this.#resets.get(id)!
    const call = new Call(handler, () => {
      backend.running--
      attempt.running--
      attempt.ended++
      resets.delete(reset)
    })
    const reset = () => call.fail('ECONNRESET')
    backend.running++
    attempt.running++
    resets.add(reset)
    call.play(responseOf(backend.mood, body.stream === true, wanted, words))
  }
}

type Step =
  | { afterMs: number; say: 'begin'; status: number; headers?: Record<string, string> }
  | { afterMs: number; say: 'data'; text: string }
  | { afterMs: number; say: 'end' }
  | { afterMs: number; say: 'error'; code: string }

const json = { 'content-type': 'application/json' }

function completeResponse(afterMs: number, status: number, text = '{}', headers: Record<string, string> = {}): Step[] {
  return [
    { afterMs, say: 'begin', status, headers: { ...json, ...headers } },
    { afterMs: 0, say: 'data', text },
    { afterMs: 0, say: 'end' },
  ]
}

function probeResponse(mood: Mood): Step[] {
  if (mood === 'refuses') return [{ afterMs: 0, say: 'error', code: 'ECONNREFUSED' }]
  if (mood === 'hangs') return []
  if (mood === 'fails') return completeResponse(1, 500)
  return completeResponse(1, mood === 'denies' || mood === 'hides' ? 403 : 200)
}

function responseOf(mood: Mood, stream: boolean, { lastsMs, poison }: Options, words: Words): Step[] {
  const { plain, first, piece, last } = words
  if (poison !== undefined && (serves(mood) || mood === 'thinks' || mood === 'stalls')) return poisoned(poison, words)
  switch (mood) {
    case 'refuses':
      return [{ afterMs: 0, say: 'error', code: 'ECONNREFUSED' }]
    case 'hangs':
      return []
    case 'fails':
      return completeResponse(1, 500)
    case 'denies':
      return completeResponse(1, 401)
    case 'limits':
      return completeResponse(1, 429, '{}', { 'retry-after': '4' })
  }
  const thinksMs = mood === 'thinks' ? THINKS_MS : BEGINS_AFTER_MS
  if (!stream) {
    return mood === 'breaks'
      ? [{ afterMs: thinksMs, say: 'error', code: 'ECONNRESET' }]
      : completeResponse(thinksMs + Math.min(lastsMs, 1_000), 200, plain)
  }
  const steps: Step[] = [
    { afterMs: 1, say: 'begin', status: 200, headers: { 'content-type': 'text/event-stream' } },
    { afterMs: thinksMs, say: 'data', text: first },
  ]
  if (mood === 'breaks') return [...steps, { afterMs: 5, say: 'error', code: 'ECONNRESET' }]
  if (mood === 'stalls') steps.push({ afterMs: STALLS_MS, say: 'data', text: piece(' again') })
  for (let left = lastsMs; left > 0; left -= BETWEEN_PIECES_MS) {
    steps.push({ afterMs: Math.min(left, BETWEEN_PIECES_MS), say: 'data', text: piece(' and') })
  }
  return [...steps, { afterMs: 0, say: 'data', text: last }, { afterMs: 0, say: 'end' }]
}

function poisoned(poison: Poison, { plain, first }: Words): Step[] {
  if (poison === 'fails') return completeResponse(1, 500)
  if (poison === 'drops') return [{ afterMs: 2, say: 'error', code: 'ECONNRESET' }]
  if (poison === 'garbles') return completeResponse(1, 200, plain.slice(0, 20))
  return [
    { afterMs: 1, say: 'begin', status: 200, headers: { 'content-type': 'text/event-stream' } },
    { afterMs: 1, say: 'data', text: first },
    { afterMs: 1, say: 'error', code: 'ECONNRESET' },
  ]
}

/** One request on its connection. */
class Call {
  #handler: Dispatcher.DispatchHandler
  #onOver: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  #controller: Dispatcher.DispatchController

  constructor(handler: Dispatcher.DispatchHandler, onOver: () => void = () => {}) {
    this.#handler = handler
    this.#onOver = onOver
    this.#controller = {
      aborted: false,
      paused: false,
      reason: null,
      abort: (reason) => this.#end(() => handler.onResponseError?.(this.#controller, reason)),
      pause: () => {},
      resume: () => {},
    }
  }

  play(steps: Step[]): void {
    if (steps[0]?.say === 'error' && steps[0].code === 'ECONNREFUSED') return this.#playOn(steps)
    this.#timer = setTimeout(() => {
      this.#handler.onRequestStart?.(this.#controller, {})
      this.#playOn(steps)
    }, CONNECTED_AFTER_MS)
  }

  fail(code: string): void {
    const error = Object.assign(new Error(code), { code })
    this.#end(() => this.#handler.onResponseError?.(this.#controller, error))
  }

  #playOn([step, ...rest]: Step[]): void {
    if (!step || this.#isOver) return
    this.#timer = setTimeout(() => {
      this.#say(step)
      this.#playOn(rest)
    }, step.afterMs)
  }

  #say(step: Step): void {
    const [handler, controller] = [this.#handler, this.#controller]
    switch (step.say) {
      case 'begin':
        return handler.onResponseStart?.(controller, step.status, step.headers ?? {}, '')
      case 'data':
        return handler.onResponseData?.(controller, Buffer.from(step.text))
      case 'end':
        return this.#end(() => handler.onResponseEnd?.(controller, {}))
      case 'error':
        return this.fail(step.code)
    }
  }

  #end(notify: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#onOver()
    notify()
  }
}
