/**
 * Sends a request over plain HTTP, and knows every way in which that can end. Never throws.
 */

import { Agent, request, type ClientRequest, type IncomingMessage } from 'node:http'
import type { LeavesAt } from '../plan/requests.ts'
import type { Question } from './question.ts'
import { responseReader, type ResponseReader } from './read-response.ts'
import type { Seen } from './seen.ts'

export interface Requesting {
  /** The edge's address. */
  url: string
  key: string
  question: Question
  idempotencyKey?: string
  leave?: { at: LeavesAt; afterMs: number }
  onHead?: () => void
  /** Reads no faster than so many bytes every tenth of a second. */
  sipBytes?: number
}

const GIVE_UP_MS = 60_000
const SIP_EVERY_MS = 100
/** Long enough for the first half of a body to arrive. */
const SENDING_MS = 50
/** The approximate size of a stream's events for each character of its text. */
const BYTES_PER_CHARACTER = 40
const agent = new Agent({ keepAlive: true, maxSockets: Infinity })

/** Resolves when it is over, with everything noted in `seen`. */
export function requestOverHttp(requesting: Requesting, seen: Seen): Promise<void> {
  return new Promise((resolve) => {
    const { url, key, question } = requesting
    const sent = request(`${url}${question.path}`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(requesting.idempotencyKey !== undefined && { 'idempotency-key': requesting.idempotencyKey }),
      },
    })
    const timers = [setTimeout(() => giveUp(sent, seen), GIVE_UP_MS)]
    const waitsMs = waitsBeforeLeaving(requesting)
    if (waitsMs !== null) timers.push(setTimeout(() => leave(sent, seen), waitsMs))
    const over = () => {
      for (const timer of timers) clearTimeout(timer)
      seen.endedAtMs = Date.now()
      resolve()
    }
    // One that leaves after its connection has failed ends with a second error.
    sent.on('error', (error) => {
      if (seen.headAtMs !== null || seen.endedAtMs > 0) return
      if (!seen.left) seen.problem ??= 'unreachable'
      seen.detail ||= error.message
      over()
    })
    sent.once('response', (response) => {
      const goes = (reader: ResponseReader | null) => {
        if (leavesNow(requesting, seen, reader)) leave(sent, seen)
      }
      void readResponse(response, requesting, seen, goes).then(over)
    })
    const body = JSON.stringify(question.body)
    if (requesting.leave?.at !== 'sending') return void sent.end(body)
    sent.setHeader('content-length', Buffer.byteLength(body))
    sent.write(body.slice(0, body.length / 2))
  })
}

/** Null: it leaves when its response has come so far, or not at all. */
function waitsBeforeLeaving({ leave }: Requesting): number | null {
  if (leave?.at === 'waiting') return leave.afterMs
  return leave?.at === 'sending' ? SENDING_MS : null
}

/** Called when the headers have come (`reader` is null then) and after each piece of the response. */
function leavesNow({ leave, question, sipBytes }: Requesting, seen: Seen, reader: ResponseReader | null): boolean {
  if (!leave || seen.left) return false
  switch (leave.at) {
    case 'head':
      return true
    case 'content':
      return reader !== null && reader.textLength >= (question.expected?.length ?? 0) / 2
    case 'end':
      return seen.finishReason !== null
    case 'sipping':
      return reader !== null && reader.textLength > sipBytes! / BYTES_PER_CHARACTER
    default:
      return false
  }
}

function giveUp(sent: ClientRequest, seen: Seen): void {
  seen.problem = 'hung'
  sent.destroy(new Error(`no end within ${GIVE_UP_MS / 1_000} s`))
}

function leave(sent: ClientRequest, seen: Seen): void {
  seen.left = true
  sent.destroy(new Error('the client left'))
}

async function readResponse(
  response: IncomingMessage,
  requesting: Requesting,
  seen: Seen,
  onProgress: (reader: ResponseReader | null) => void,
): Promise<void> {
  seen.headAtMs = Date.now()
  requesting.onHead?.()
  seen.status = response.statusCode ?? null
  seen.requestId = response.headers['x-request-id']?.toString() ?? null
  if (seen.status !== 200) return readRefusal(response, seen)
  const reader = responseReader(seen, requesting.question)
  response.setEncoding('utf8')
  if (requesting.sipBytes !== undefined) sip(response, requesting.sipBytes)
  onProgress(null)
  response.on('data', (piece: string) => {
    try {
      reader.push(piece)
    } catch (error) {
      seen.problem ??= `not readable: ${String(error)}`
    }
    onProgress(reader)
  })
  const isComplete = await ended(response)
  try {
    reader.end(isComplete)
  } catch (error) {
    seen.problem ??= `not readable: ${String(error)}`
  }
  if (seen.left && !seen.complete) seen.problem = null
}

async function readRefusal(response: IncomingMessage, seen: Seen): Promise<void> {
  let body = ''
  response.setEncoding('utf8').on('data', (piece: string) => (body += piece))
  const isComplete = await ended(response)
  noteRefusal(seen, isComplete ? body : '')
}

/** The shapes of an error body, by the part that a client acts on: the limit that was met, or the code. */
export function noteRefusal(seen: Seen, body: string): void {
  seen.detail = body.slice(0, 500)
  const { code, scope = null } = readError(body)
  seen.problem = `${seen.status} ${code}`
  seen.scope = scope
}

interface ErrorMember {
  code: string
  type?: string
  /** Of the Messages API, where `type` is Anthropic's own. */
  limit?: string
  scope?: string
}

function readError(body: string): { code: string; scope?: string | undefined } {
  try {
    const { error, code } = JSON.parse(body) as { error: string | ErrorMember; code?: string }
    if (typeof error === 'string') return { code: code ?? 'without a code' }
    const limit = error.limit ?? (error.code === 'rate_limit_exceeded' ? error.type : undefined)
    return { code: limit ?? error.code, scope: error.scope }
  } catch {
    return { code: 'unreadable' }
  }
}

/** Resolves to true when the response ends in good order. */
function ended(response: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    response.once('end', () => resolve(response.complete))
    response.on('error', () => resolve(false))
    response.once('close', () => resolve(response.complete))
  })
}

function sip(response: IncomingMessage, bytes: number): void {
  let taken = 0
  response.on('data', (piece: string) => {
    taken += piece.length
    if (taken < bytes) return
    taken = 0
    response.pause()
    setTimeout(() => response.resume(), SIP_EVERY_MS)
  })
}
