/**
 * Sends a response at the backend's speed and with the request's fault. Without either, it is one write.
 *
 * Returns when the response is out, or when the connection is gone.
 */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BackendCall } from './calls.ts'
import type { Fault } from './faults.ts'
import { errorBody } from './refusal.ts'

export interface Speed {
  /** 0: as fast as it can. */
  tokensPerSecond: number
  firstByteDelayMs: number
}

export interface Reply {
  /** The events of a stream, or the one JSON text. */
  parts: string[]
  stream: boolean
  /** Tokens that a JSON response takes time for. */
  tokens: number
}

const GARBAGE_EVENT = 'data: {"id": oops, this is no JSON\n\n'
const COMMENT = ': keep-alive\n\n'
const JSON_TYPE = { 'content-type': 'application/json' }
const STREAM_TYPE = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

export async function deliver(
  res: ServerResponse,
  call: BackendCall,
  reply: Reply,
  fault: Fault | null,
  speed: Speed,
): Promise<void> {
  if (fault === null && speed.tokensPerSecond === 0 && speed.firstByteDelayMs === 0)
    return deliverAtOnce(res, call, reply)
  await deliverInParts(res, call, reply, fault ?? {}, speed)
}

function deliverAtOnce(res: ServerResponse, call: BackendCall, { parts, stream }: Reply): void {
  const body = parts.length === 1 ? parts[0]! : parts.join('')
  writeHead(res, call, 200, stream ? STREAM_TYPE : { ...JSON_TYPE, 'content-length': Buffer.byteLength(body) })
  call.chunksSent = parts.length
  res.end(body)
}

async function deliverInParts(
  res: ServerResponse,
  call: BackendCall,
  reply: Reply,
  fault: Fault,
  speed: Speed,
): Promise<void> {
  const sleep = sleeper(res)
  const { tokensPerSecond } = speed
  const parts = spoil(reply, fault)
  await sleep(speed.firstByteDelayMs + (fault.firstByteDelayMs ?? 0))
  if (!reply.stream && tokensPerSecond > 0) await sleep((reply.tokens * 1000) / tokensPerSecond)
  if (res.destroyed) return
  const length = reply.stream
    ? {}
    : { 'content-length': parts.reduce((total, part) => total + Buffer.byteLength(part), 0) }
  writeHead(res, call, 200, { ...(reply.stream ? STREAM_TYPE : JSON_TYPE), ...length, ...fault.headers })
  res.flushHeaders()

  const startedAtMs = performance.now()
  for (let sent = 0; ; sent++) {
    if (await breakOff(res, fault, sent)) return
    if (sent === parts.length) break
    if (fault.paceMs) await sleep(fault.paceMs)
    else if (reply.stream && tokensPerSecond > 0) await sleepUntil(startedAtMs + (sent * 1000) / tokensPerSecond, sleep)
    if (res.destroyed) return
    await writePart(res, parts[sent]!, fault.splitEvery)
    call.chunksSent++
  }
  const { socket } = res
  res.end(() => fault.extraBytes !== undefined && socket?.write(fault.extraBytes))
}

/** A response that is not the model's: an error status, an HTML page, silence, or a closed connection. */
export async function deliverFailure(res: ServerResponse, call: BackendCall, fault: Fault): Promise<void> {
  if (fault.hang) return untilClosed(res)
  if (fault.firstByteDelayMs) await sleeper(res)(fault.firstByteDelayMs)
  if (fault.disconnect) return disconnect(res, fault)
  const status = fault.status ?? 200
  const body =
    fault.body ??
    (fault.html ? HTML_PAGE : errorBody('A simulated fault.', status >= 500 ? 'server_error' : 'invalid_request_error'))
  const retryAfter = fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) }
  writeHead(res, call, status, {
    'content-type': fault.html ? 'text/html' : 'application/json',
    ...retryAfter,
    ...fault.headers,
  })
  res.end(body)
}

export function isFailure(fault: Fault): boolean {
  const { hang = false, disconnect = false, html = false, status, body } = fault
  return hang || disconnect || html || status !== undefined || body !== undefined
}

const HTML_PAGE =
  '<!doctype html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>'

function writeHead(res: ServerResponse, call: BackendCall, status: number, headers: OutgoingHttpHeaders): void {
  call.status = status
  call.firstByteAtMs = Date.now()
  res.writeHead(status, headers)
}

/** The parts as the fault changes them. */
function spoil({ parts, stream }: Reply, fault: Fault): string[] {
  if (!stream) return spoilJson(parts.join(''), fault)
  let events = parts
  if (fault.truncatedJson) {
    const last = events.findLast((event) => !event.includes('[DONE]')) ?? ''
    events = [...events.slice(0, events.indexOf(last)), last.slice(0, last.length / 2)]
  }
  if (fault.garbageAfterChunks !== undefined) events = events.toSpliced(fault.garbageAfterChunks, 0, GARBAGE_EVENT)
  if (fault.errorAfterChunks !== undefined) {
    const error = errorEvent(fault.errorBesideChoices === true)
    events = [...events.slice(0, fault.errorAfterChunks), error, ...(fault.noDone ? [] : ['data: [DONE]\n\n'])]
  }
  if (fault.emptyChunks !== undefined) {
    const empty = emptyChunk()
    events = events.toSpliced(1, 0, ...Array.from({ length: fault.emptyChunks }, () => empty))
  }
  if (fault.comments) events = events.map((event) => COMMENT + event)
  return fault.crlf ? events.map((event) => event.replaceAll('\n', '\r\n')) : events
}

function errorEvent(besideChoices: boolean): string {
  const body = errorBody('The engine died (simulated).', 'internal_server_error', null, 'engine_error')
  if (!besideChoices) return `data: ${body}\n\n`
  const choices = [{ index: 0, delta: { content: '' }, finish_reason: 'error', native_finish_reason: 'error' }]
  return `data: ${JSON.stringify({ ...CHUNK, ...(JSON.parse(body) as object), choices })}\n\n`
}

function emptyChunk(): string {
  const choices = [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }]
  return `data: ${JSON.stringify({ ...CHUNK, choices })}\n\n`
}

const CHUNK = { id: 'chatcmpl-simulated', object: 'chat.completion.chunk', created: 1, model: 'simulated' }

function spoilJson(json: string, fault: Fault): string[] {
  if (fault.truncatedJson) return [json.slice(0, json.length / 2)]
  const padded = fault.sizeBytes === undefined ? json : json.padEnd(fault.sizeBytes)
  const complete = fault.garbageAfterChunks === undefined ? padded : `oops${padded}`
  const cutAt = fault.dieAfterChunks ?? fault.stallAfterChunks ?? fault.halfOpenAfterChunks
  if (cutAt === undefined) return [complete]
  const pieceLength = Math.ceil(complete.length / (cutAt + 1))
  return Array.from({ length: cutAt + 1 }, (_, index) => complete.slice(index * pieceLength, (index + 1) * pieceLength))
}

async function breakOff(res: ServerResponse, fault: Fault, sent: number): Promise<boolean> {
  if (fault.dieAfterChunks === sent) {
    await flushed(res)
    disconnect(res, fault)
    return true
  }
  if (fault.stallAfterChunks === sent) {
    await untilClosed(res)
    return true
  }
  if (fault.halfOpenAfterChunks === sent) {
    await flushed(res)
    res.socket?.pause()
    await untilClosed(res)
    return true
  }
  return false
}

async function writePart(res: ServerResponse, part: string, splitEvery: number[] | undefined): Promise<void> {
  if (splitEvery === undefined) {
    if (!res.write(part)) return drained(res)
    return sentByItself()
  }
  const bytes = Buffer.from(part)
  for (let from = 0, turn = 0; from < bytes.length && !res.destroyed; turn++) {
    const length = splitEvery[turn % splitEvery.length]!
    res.write(bytes.subarray(from, from + length))
    from += length
    await nextTurn()
  }
}

/** Node joins all that is written in one turn in one chunk, where an engine writes each event when it has it. */
function sentByItself(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve))
}

function disconnect(res: ServerResponse, fault: Fault): void {
  if (fault.reset) res.socket?.resetAndDestroy()
  else res.socket?.destroy()
}

function flushed(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (res.destroyed || !res.socket) return resolve()
    res.socket.write('', () => resolve())
  })
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (res.destroyed) return resolve()
    const done = () => {
      res.off('drain', done)
      res.off('close', done)
      resolve()
    }
    res.on('drain', done)
    res.on('close', done)
  })
}

function untilClosed(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => (res.destroyed ? resolve() : res.once('close', () => resolve())))
}

/** Pauses that end early when the connection closes. */
function sleeper(res: ServerResponse): (ms: number) => Promise<void> {
  let wake: (() => void) | undefined
  res.once('close', () => wake?.())
  return (ms) =>
    new Promise((resolve) => {
      if (ms <= 0 || res.destroyed) return resolve()
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
}

/** Waits for a moment of `performance.now()`; one that is near or past costs nothing, so a late stream catches up. */
async function sleepUntil(atMs: number, sleep: (ms: number) => Promise<void>): Promise<void> {
  const waitMs = atMs - performance.now()
  if (waitMs >= 1) await sleep(waitMs)
}
