/**
 * What can go wrong with a backend, as one object: its fields combine, so `{ crlf: true, splitEvery: [1] }` is one fault.
 *
 * A fault is set for a backend (`backend.fail`), in a request's `x-fault` header (JSON), or in the model's name, which a
 * gateway passes on unchanged: `sim-fast?dieAfterChunks=3&reset=true`. The list is a script: each request takes the
 * first fault that fits it and has times left. A chunk is an event of a stream; a JSON body counts as k + 1 pieces.
 */

import { isObject, Refusal } from './refusal.ts'

export type Endpoint = 'chat' | 'embeddings' | 'images' | 'models' | 'health'

export interface Fault {
  /** Requests that it applies to before it is spent; without it, all. */
  times?: number
  /** Only requests to this endpoint; without it, the three that infer. */
  endpoint?: Endpoint
  /** Only requests for this model. */
  model?: string
  /** Only requests that name this backend in `x-simulated-backend`: one server can play several. */
  backend?: string
  /** Only streamed requests, or only those that are not. */
  stream?: boolean

  /** Closes the connection before any byte of the answer. */
  disconnect?: boolean
  status?: number
  /** The body instead of the answer's own; JSON unless `html`. */
  body?: string
  headers?: Record<string, string>
  /** Seconds, as the `retry-after` header. */
  retryAfter?: number
  /** Status 200 and an HTML page, as a proxy in front of a dead server gives. */
  html?: boolean
  /** Never answers; the connection stays open. */
  hang?: boolean
  firstByteDelayMs?: number

  dieAfterChunks?: number
  stallAfterChunks?: number
  /** As after a power cut: nothing is written and nothing read any more, so a client's leaving goes unnoticed. */
  halfOpenAfterChunks?: number
  /** `dieAfterChunks` and `disconnect` send RST instead of FIN. */
  reset?: boolean
  /** Ends the response in good order with its JSON (a stream: its last event) cut in the middle. */
  truncatedJson?: boolean
  /** A `data:` line that is no JSON, after so many chunks. */
  garbageAfterChunks?: number
  /** An error event instead of the rest, after so many chunks, as inference servers send one. */
  errorAfterChunks?: number
  /** That event has choices, too, as aggregators send it: they finish by `error`. */
  errorBesideChoices?: boolean
  /** So many chunks without content after the first one, which is the role's. */
  emptyChunks?: number
  /** Bytes per write, over and over: `[1]` writes every byte by itself. */
  splitEvery?: number[]
  /** Bytes on the connection after the end of the response. */
  extraBytes?: string
  crlf?: boolean
  /** SSE comments between events. */
  comments?: boolean
  noDone?: boolean
  noUsage?: boolean
  noFinishReason?: boolean
  /** Usage in the chunk of the finish reason, asked for or not. */
  usageWithFinish?: boolean
  /** Usage that is reported instead of the true one. */
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
  /** The answer's text. */
  text?: string
  /** The answer's size in bytes, at the least. */
  sizeBytes?: number
  /** Pause before each chunk. */
  paceMs?: number

  dimensions?: number
  /** An image that is no PNG. */
  notPng?: boolean
  /** An image as a URL: of the backend itself, or this one. */
  imageUrl?: true | string
}

type FieldType = 'number' | 'boolean' | 'string' | 'numbers' | 'headers' | 'usage' | 'url'
const FIELDS: Record<keyof Fault, FieldType> = {
  times: 'number',
  endpoint: 'string',
  model: 'string',
  backend: 'string',
  stream: 'boolean',
  disconnect: 'boolean',
  status: 'number',
  body: 'string',
  headers: 'headers',
  retryAfter: 'number',
  html: 'boolean',
  hang: 'boolean',
  firstByteDelayMs: 'number',
  dieAfterChunks: 'number',
  stallAfterChunks: 'number',
  halfOpenAfterChunks: 'number',
  reset: 'boolean',
  truncatedJson: 'boolean',
  garbageAfterChunks: 'number',
  errorAfterChunks: 'number',
  errorBesideChoices: 'boolean',
  emptyChunks: 'number',
  splitEvery: 'numbers',
  extraBytes: 'string',
  crlf: 'boolean',
  comments: 'boolean',
  noDone: 'boolean',
  noUsage: 'boolean',
  noFinishReason: 'boolean',
  usageWithFinish: 'boolean',
  usage: 'usage',
  text: 'string',
  sizeBytes: 'number',
  paceMs: 'number',
  dimensions: 'number',
  notPng: 'boolean',
  imageUrl: 'url',
}

export interface FaultedRequest {
  endpoint: Endpoint
  /** As the client wrote it, with what follows `?`. */
  model: string | null
  stream: boolean
  /** The value of `x-simulated-backend`. */
  backend: string | null
  /** The value of `x-fault`. */
  header: string | undefined
}

export interface FaultScript {
  add(fault: Fault): { cancel(): void }
  list(): Fault[]
  clear(): void
  /** The fault of this request: its own (header, then model name), else the script's. */
  take(request: FaultedRequest): Fault | null
}

const INFERENCE: ReadonlySet<Endpoint> = new Set(['chat', 'embeddings', 'images'])

export function faultScript(): FaultScript {
  let entries: { fault: Fault; left: number }[] = []
  return {
    add(fault) {
      const entry = { fault, left: fault.times ?? Infinity }
      entries.push(entry)
      return { cancel: () => void (entries = entries.filter((other) => other !== entry)) }
    },
    list: () => entries.map(({ fault, left }) => (left === Infinity ? fault : { ...fault, times: left })),
    clear: () => void (entries = []),
    take(request) {
      if (request.header !== undefined) return readFault(parseJson(request.header))
      const own = request.model?.indexOf('?') ?? -1
      if (own >= 0) return faultFromQuery(request.model!.slice(own + 1))
      if (entries.length === 0) return null
      const entry = entries.find(({ fault, left }) => left > 0 && applies(fault, request))
      if (!entry) return null
      entry.left--
      if (entry.left <= 0) entries = entries.filter((other) => other !== entry)
      return entry.fault
    },
  }
}

function applies(fault: Fault, request: FaultedRequest): boolean {
  if (fault.endpoint === undefined ? !INFERENCE.has(request.endpoint) : fault.endpoint !== request.endpoint)
    return false
  if (fault.model !== undefined && fault.model !== request.model) return false
  if (fault.backend !== undefined && fault.backend !== request.backend) return false
  return fault.stream === undefined || fault.stream === request.stream
}

/** Checks what came from outside, so that a misspelt fault is an error and not a test that passes. */
export function readFault(value: unknown): Fault {
  if (!isObject(value)) throw new Refusal('A fault is a JSON object.')
  for (const [name, field] of Object.entries(value)) {
    const type = FIELDS[name as keyof Fault]
    if (type === undefined) throw new Refusal(`There is no fault '${name}'.`, { param: name })
    if (!isOfType(field, type)) throw new Refusal(`The fault '${name}' has the wrong type.`, { param: name })
  }
  return value
}

function isOfType(value: unknown, type: FieldType): boolean {
  switch (type) {
    case 'numbers':
      return Array.isArray(value) && value.length > 0 && value.every((item) => Number.isInteger(item) && item >= 1)
    case 'headers':
      return isObject(value) && Object.values(value).every((item) => typeof item === 'string')
    case 'usage':
      return isObject(value)
    case 'url':
      return value === true || typeof value === 'string'
    case 'number':
      return typeof value === 'number' && value >= 0
    default:
      return typeof value === type
  }
}

function faultFromQuery(query: string): Fault {
  const fields = [...new URLSearchParams(query)].map(([name, text]) => [
    name,
    fromText(text, FIELDS[name as keyof Fault]),
  ])
  return readFault(Object.fromEntries(fields))
}

function fromText(text: string, type: FieldType | undefined): unknown {
  if (type === 'string') return text
  if (type === 'url') return text === 'true' ? true : text
  return parseJson(type === 'numbers' ? `[${text}]` : text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(`A fault's value is not JSON: ${text.slice(0, 80)}`)
  }
}
