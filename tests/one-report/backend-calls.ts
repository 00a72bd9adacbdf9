/**
 * Backends without sockets: a test drives each call of a router to a backend step by step. It uses the callbacks
 * through which the HTTP client reports a call's progress.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { Client, type Dispatcher } from 'undici'
import { vi } from 'vitest'

/** Each word of a response is one event and one token. */
export const WORD = 'w '

export interface Call {
  readonly router: number
  /** The dispatch that the call is made for. */
  readonly attempt: number
  readonly stream: boolean
  state: 'connecting' | 'working' | 'ended' | 'refused' | 'broken' | 'aborted'
  /** It was working when its router gave it up. */
  wasWorking: boolean
  hasResponded: boolean
  /** Tokens that the backend has generated and sent. */
  words: number
}

export interface DrivenCall extends Call {
  connect(): void
  /** Sends its headers, and one word of a stream. */
  speak(): void
  end(): void
  refuse(): void
  /** Its connection breaks. */
  break(): void
  /** Its router is dead. */
  lose(): void
}

/** Says for which router and dispatch a call is made. */
export const caller = new AsyncLocalStorage<{ router: number; attempt: number }>()

/** Every call of this test is added to `calls`. */
export function driveBackends(calls: DrivenCall[], reportsUsage: boolean): void {
  vi.spyOn(Client.prototype, 'dispatch').mockImplementation((options, handler) => {
    const { router, attempt } = caller.getStore()!
    const { stream } = JSON.parse((options.body as Buffer).toString()) as { stream?: boolean }
    calls.push(driveCall({ router, attempt, stream: stream === true }, handler, reportsUsage))
    return true
  })
}

function driveCall(
  of: Pick<Call, 'router' | 'attempt' | 'stream'>,
  handler: Dispatcher.DispatchHandler,
  reportsUsage: boolean,
): DrivenCall {
  const controller = {
    aborted: false,
    paused: false,
    reason: null,
    abort(reason: Error) {
      call.lose()
      queueMicrotask(() => handler.onResponseError?.(controller, reason))
    },
    pause() {},
    resume() {},
  } as unknown as Dispatcher.DispatchController
  const send = (text: string) => handler.onResponseData?.(controller, Buffer.from(text))
  const headers = (status: number) => {
    const contentType = call.stream && status === 200 ? 'text/event-stream' : 'application/json'
    handler.onResponseStart?.(controller, status, { 'content-type': contentType }, '')
  }
  const call: DrivenCall = {
    ...of,
    state: 'connecting',
    wasWorking: false,
    hasResponded: false,
    words: 0,
    connect() {
      if (call.state !== 'connecting') return
      // A call that was given up before it had a connection is aborted here.
      handler.onRequestStart?.(controller, null)
      if (call.state === 'connecting') call.state = 'working'
    },
    speak() {
      if (call.state !== 'working') return
      if (!call.hasResponded) headers(200)
      call.hasResponded = true
      if (!call.stream) return
      call.words++
      send(event({ choices: [{ index: 0, delta: { content: WORD }, finish_reason: null }] }))
    },
    end() {
      call.connect()
      if (call.state !== 'working') return
      if (call.words === 0) call.speak()
      const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: Math.max(1, call.words), total_tokens: 0 }
      call.words = usage.completion_tokens
      call.state = 'ended'
      if (call.stream) {
        send(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
        send((reportsUsage ? event({ choices: [], usage }) : '') + 'data: [DONE]\n\n')
      } else {
        const choices = [{ index: 0, message: { role: 'assistant', content: WORD }, finish_reason: 'stop' }]
        send(JSON.stringify({ id: LONG_ID, object: 'chat.completion', choices, ...(reportsUsage ? { usage } : {}) }))
      }
      handler.onResponseEnd?.(controller, {})
    },
    refuse() {
      if (call.state !== 'working' || call.hasResponded) return
      call.state = 'refused'
      headers(401)
      send('{"error":{"message":"no"}}')
      handler.onResponseEnd?.(controller, {})
    },
    lose() {
      if (call.state !== 'connecting' && call.state !== 'working') return
      call.wasWorking = call.state === 'working'
      call.state = 'aborted'
    },
    break() {
      if (call.state !== 'working' || call.words === 0) return
      call.state = 'broken'
      handler.onResponseEnd?.(controller, {})
    },
  }
  return call
}

/** A plain response takes several frames, and more than the window of its stream. */
const LONG_ID = 'c'.repeat(1_500)

/** The backends' own count. It differs from the edge's estimate, so that a test can distinguish the two. */
export const PROMPT_TOKENS = 9

function event(value: object): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', ...value })}\n\n`
}
