/**
 * The backend's HTTP server: reads a request, finds its fault, responds to it and logs the call.
 */

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { CallLog, ReportedUsage } from './calls.ts'
import { buildChatResponse } from './chat.ts'
import { isCompaction, isSpoken, type OtherDialect, readConversation, writeConversation } from './conversations.ts'
import { type Reply, deliver, deliverFailure, isFailure, type Speed } from './deliver.ts'
import { buildEmbeddingsResponse } from './embeddings.ts'
import type { Endpoint, Fault, FaultScript } from './faults.ts'
import { buildImagesResponse, imageAt } from './images.ts'
import { errorBody, isObject, type JsonObject, Refusal } from './refusal.ts'
import { writeCompaction } from './responses-wire.ts'

export interface Serving {
  script: FaultScript
  log: CallLog
  speed: Speed
  origin: () => string
  /** Expected as the bearer credential, if set. */
  apiKey: string | undefined
  /** The only models that are known, if set. */
  models: string[] | undefined
  contextWindow: number | undefined
  keepBodyBytes: number
  /** The other APIs for conversations that it speaks. */
  dialects: readonly OtherDialect[]
}

interface Route {
  method: 'GET' | 'POST'
  endpoint: Endpoint
}

/** Faults and the log know a conversation of each API as `chat`. */
const CONVERSATION = { method: 'POST', endpoint: 'chat' } as const

const ROUTES: Record<string, Route> = {
  '/v1/chat/completions': { method: 'POST', endpoint: 'chat' },
  '/v1/embeddings': { method: 'POST', endpoint: 'embeddings' },
  '/v1/images/generations': { method: 'POST', endpoint: 'images' },
  '/v1/models': { method: 'GET', endpoint: 'models' },
  '/health': { method: 'GET', endpoint: 'health' },
}
const DEFAULT_MODELS = ['sim-chat', 'sim-reasoning', 'sim-vision', 'sim-embed', 'sim-image']
/** Models that think before they respond say so in their name. */
const REASONING_MODEL = /reason|think/i
const EMPTY = Buffer.alloc(0)

const ID_PREFIX = `chatcmpl-${randomBytes(6).toString('hex')}`
let completions = 0
const completionId = () => ID_PREFIX + (++completions).toString(16).padStart(12, '0')

export async function serveRequest(req: IncomingMessage, res: ServerResponse, serving: Serving): Promise<void> {
  try {
    const path = req.url!.split('?', 1)[0]!
    const route = isSpoken(path, serving.dialects) ? CONVERSATION : ROUTES[path]
    if (!route || route.method !== req.method) return await serveOther(path, req, res)
    const bytes = route.method === 'POST' ? await readBody(req) : EMPTY
    const body = route.method === 'POST' ? parseBody(bytes) : {}
    await serveEndpoint({ endpoint: route.endpoint, path }, req, res, body, bytes.length, serving)
  } catch (error) {
    refuse(res, error)
  }
}

async function serveEndpoint(
  { endpoint, path }: { endpoint: Endpoint; path: string },
  req: IncomingMessage,
  res: ServerResponse,
  body: JsonObject,
  bodyBytes: number,
  serving: Serving,
): Promise<void> {
  const { script, log } = serving
  const model = typeof body['model'] === 'string' ? body['model'] : null
  const stream = body['stream'] === true
  const backend = header(req, 'x-simulated-backend') ?? null
  const fault = script.take({ endpoint, model, stream, backend, body })
  if (endpoint === 'health' || endpoint === 'models') return await serveStatus(endpoint, res, fault, serving)

  const call = log.begin({
    endpoint,
    requestId: header(req, 'x-request-id') ?? null,
    headers: req.headers,
    backend,
    model,
    stream,
    body: bodyBytes <= serving.keepBodyBytes ? body : null,
    bodyBytes,
    fault,
    startedAtMs: Date.now(),
  })
  res.once('close', () => log.end(call, res.writableFinished ? 'completed' : 'aborted'))
  try {
    if (fault && isFailure(fault)) return await deliverFailure(res, call, fault)
    authenticate(req, serving)
    checkModel(model, serving)
    const reply = await responseFor({ endpoint, path }, body, fault ?? {}, serving)
    call.usage = fault?.noUsage ? null : (fault?.usage ?? reply.usage)
    call.responseId = reply.id ?? null
    await deliver(res, call, reply, fault, serving.speed)
  } catch (error) {
    call.status = error instanceof Refusal ? error.status : 500
    refuse(res, error)
  }
}

interface BuiltResponse extends Reply {
  usage: ReportedUsage
  id?: string
}

async function responseFor(
  { endpoint, path }: { endpoint: 'chat' | 'embeddings' | 'images'; path: string },
  body: JsonObject,
  fault: Fault,
  serving: Serving,
): Promise<BuiltResponse> {
  const usage = !fault.noUsage
  switch (endpoint) {
    case 'chat':
      return isCompaction(path) ? compaction(body) : chatResponse(path, body, fault, serving)
    case 'embeddings':
      return jsonResponse(buildEmbeddingsResponse(body, { dimensions: fault.dimensions, usage }))
    case 'images':
      return jsonResponse(await buildImagesResponse(body, { usage, origin: serving.origin() }))
  }
}

function compaction(body: JsonObject): BuiltResponse {
  const { json, usage } = writeCompaction(body, completionId().slice(ID_PREFIX.length))
  return { parts: [json], stream: false, tokens: usage.total_tokens, usage }
}

function chatResponse(path: string, body: JsonObject, fault: Fault, serving: Serving): BuiltResponse {
  const request = readConversation(path, body)
  const reasons = REASONING_MODEL.test(request.model)
  const made = buildChatResponse(request, {
    reasons,
    text: fault.text,
    ignoresCap: fault.ignoresCap,
    sizeBytes: fault.sizeBytes,
  })
  checkContext(made.usage.prompt_tokens, request.maxTokens ?? 0, serving)
  const reported = { ...made, usage: { ...made.usage, ...fault.usage } }
  const { stream } = request
  const id = completionId()
  const stamp = { id, created: Math.floor(Date.now() / 1000), model: request.model }
  const parts = writeConversation(path, reported, { request, body, stamp, fault, dialects: serving.dialects })
  return { parts, stream, tokens: made.usage.completion_tokens, usage: reported.usage, id }
}

function jsonResponse({ json, usage }: { json: string; usage: ReportedUsage }): BuiltResponse {
  return { parts: [json], stream: false, tokens: 0, usage }
}

async function serveStatus(
  endpoint: 'health' | 'models',
  res: ServerResponse,
  fault: Fault | null,
  serving: Serving,
): Promise<void> {
  if (fault?.hang) return
  if (fault?.disconnect) return void res.socket?.destroy()
  const status = fault?.status ?? 200
  if (status !== 200) return sendJson(res, status, errorBody('A simulated fault.', 'server_error'))
  if (endpoint === 'health') return sendJson(res, 200, '{"status":"ok"}')
  const data = (serving.models ?? DEFAULT_MODELS).map((id) => ({
    id,
    object: 'model',
    created: 1_767_225_600,
    owned_by: 'simulated',
  }))
  sendJson(res, 200, JSON.stringify({ object: 'list', data }))
}

async function serveOther(path: string, req: IncomingMessage, res: ServerResponse): Promise<void> {
  req.resume()
  const image = req.method === 'GET' ? await imageAt(path) : null
  if (image) {
    res.writeHead(200, { 'content-type': 'image/png', 'content-length': image.length })
    res.end(image)
    return
  }
  if (path in ROUTES)
    return sendJson(res, 405, errorBody(`Not allowed: ${req.method} ${path}.`, 'invalid_request_error'))
  sendJson(
    res,
    404,
    errorBody(`Unknown request URL: ${req.method} ${path}.`, 'invalid_request_error', null, 'unknown_url'),
  )
}

function authenticate(req: IncomingMessage, { apiKey }: Serving): void {
  if (apiKey !== undefined && req.headers.authorization !== `Bearer ${apiKey}` && req.headers['x-api-key'] !== apiKey) {
    throw new Refusal('Incorrect API key provided.', { status: 401, code: 'invalid_api_key' })
  }
}

function checkModel(model: string | null, { models }: Serving): void {
  if (model !== null && models !== undefined && !models.includes(model.split('?', 1)[0]!)) {
    throw new Refusal(`The model '${model}' does not exist.`, { status: 404, param: 'model', code: 'model_not_found' })
  }
}

function checkContext(promptTokens: number, maxTokens: number, { contextWindow }: Serving): void {
  if (contextWindow !== undefined && promptTokens + maxTokens > contextWindow) {
    throw new Refusal(
      `This model's maximum context length is ${contextWindow} tokens. However, you requested ${promptTokens + maxTokens} tokens.`,
      { param: 'messages', code: 'context_length_exceeded' },
    )
  }
}

/** By events, which cost a fraction of an async iterator. */
export function readBody(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    req.on('data', (piece: Buffer) => pieces.push(piece))
    req.on('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)))
    req.on('error', reject)
  })
}

export function parseBody(bytes: Buffer): JsonObject {
  let body: unknown
  try {
    body = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new Refusal(`We could not parse the JSON body of your request: ${String(cause)}`)
  }
  if (!isObject(body)) throw new Refusal('The body must be a JSON object.')
  return body
}

export function refuse(res: ServerResponse, error: unknown): void {
  if (res.destroyed || res.headersSent) return void res.destroy()
  if (error instanceof Refusal) {
    sendJson(res, error.status, errorBody(error.message, 'invalid_request_error', error.param, error.code))
  } else {
    sendJson(res, 500, errorBody(String(error), 'server_error'))
  }
}

export function sendJson(res: ServerResponse, status: number, body: string): void {
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  res.end(body)
}

function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name]
  return typeof value === 'string' ? value : undefined
}
