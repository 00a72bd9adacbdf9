/**
 * The faults that a backend can have, as one object: its fields combine, so `{ crlf: true, splitEvery: [1] }` is one fault.
 *
 * A fault is set for a backend (`backend.fail`), or in the model's name, which a gateway passes on unchanged:
 * `sim-fast?dieAfterChunks=3&reset=true`. The list is a script: each request takes the first fault that fits it and has
 * times left. A chunk is an event of a stream; a JSON body counts as k + 1 pieces.
 */

import { isBoolean, isObject, isString, Refusal } from './refusal.ts'

const ENDPOINTS = ['chat', 'embeddings', 'images', 'models', 'health'] as const
export type Endpoint = (typeof ENDPOINTS)[number]

interface Usage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0
const isSizes = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => Number.isInteger(item) && item >= 1)
const isHeaders = (value: unknown): value is Record<string, string> =>
  isObject(value) && Object.values(value).every(isString)
const isEndpoint = (value: unknown): value is Endpoint => ENDPOINTS.some((endpoint) => endpoint === value)
const isUsage = (value: unknown): value is Usage => isObject(value)

const FIELDS = {
  /** Requests that it applies to before it is spent; without it, all. */
  times: isAmount,
  /** Only requests to this endpoint; without it, the three that infer. */
  endpoint: isEndpoint,
  /** Only requests for this model. */
  model: isString,
  /** Only requests that name this backend in `x-simulated-backend`: one server can play several. */
  backend: isString,
  /** Only streamed requests, or only those that are not. */
  stream: isBoolean,
  /** Only requests whose body holds these words. */
  bodyHolds: isString,

  /** Closes the connection before any byte of the response. */
  disconnect: isBoolean,
  status: isAmount,
  /** The body instead of the response's own; JSON unless `html`. */
  body: isString,
  headers: isHeaders,
  /** Seconds, as the `retry-after` header. */
  retryAfter: isAmount,
  /** Status 200 and an HTML page, as a proxy in front of a dead server gives. */
  html: isBoolean,
  /** Never responds; the connection stays open. */
  hang: isBoolean,
  firstByteDelayMs: isAmount,

  dieAfterChunks: isAmount,
  stallAfterChunks: isAmount,
  /** Simulates a power cut: nothing is written and nothing read any more, so a client's leaving goes unnoticed. */
  halfOpenAfterChunks: isAmount,
  /** `dieAfterChunks` and `disconnect` send RST instead of FIN. */
  reset: isBoolean,
  /** Ends the response in good order with its JSON (a stream: its last event) cut in the middle. */
  truncatedJson: isBoolean,
  /** A `data:` line that is no JSON, after so many chunks. */
  garbageAfterChunks: isAmount,
  /** An error event instead of the rest, after so many chunks, as inference servers send one. */
  errorAfterChunks: isAmount,
  /** That event has choices, too, as aggregators send it: they finish by `error`. */
  errorBesideChoices: isBoolean,
  /** So many chunks without content after the first one, which is the role's. */
  emptyChunks: isAmount,
  /** Bytes per write, over and over: `[1]` writes every byte by itself. */
  splitEvery: isSizes,
  /** Bytes on the connection after the end of the response. */
  extraBytes: isString,
  crlf: isBoolean,
  /** SSE comments between events. */
  comments: isBoolean,
  noDone: isBoolean,
  noUsage: isBoolean,
  noFinishReason: isBoolean,
  /** Usage in the chunk of the finish reason, requested or not. */
  usageWithFinish: isBoolean,
  /** Usage that is reported instead of the true one. */
  usage: isUsage,
  /** The response's text. */
  text: isString,
  /** The response goes on beyond the cap that the request names. */
  ignoresCap: isBoolean,
  /** The response's size in bytes, at the least. */
  sizeBytes: isAmount,
  /** Pause before each chunk. */
  paceMs: isAmount,

  dimensions: isAmount,
}

type Checked<Is> = Is extends ((value: unknown) => value is infer Value) ? Value : never
export type Fault = { [Name in keyof typeof FIELDS]?: Checked<(typeof FIELDS)[Name]> }

export interface FaultedRequest {
  endpoint: Endpoint
  /** The path as the client wrote it, with the query after `?`. */
  model: string | null
  stream: boolean
  /** The value of `x-simulated-backend`. */
  backend: string | null
  body: object
}

export interface FaultScript {
  add(fault: Fault): { cancel(): void }
  list(): Fault[]
  clear(): void
  /** The fault of this request: its own, in the model's name, else the script's. */
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
  if (fault.bodyHolds !== undefined && !JSON.stringify(request.body).includes(fault.bodyHolds)) return false
  return fault.stream === undefined || fault.stream === request.stream
}

/** Checks a fault from outside, so that a misspelt one is an error and not a test that passes. */
export function readFault(value: unknown): Fault {
  if (!isObject(value)) throw new Refusal('A fault is a JSON object.')
  for (const [name, field] of Object.entries(value)) {
    const isOfType = checkOf(name)
    if (!isOfType) throw new Refusal(`There is no fault '${name}'.`, { param: name })
    if (!isOfType(field)) throw new Refusal(`The fault '${name}' has the wrong type.`, { param: name })
  }
  return value
}

function checkOf(name: string): ((value: unknown) => boolean) | undefined {
  return FIELDS[name as keyof Fault]
}

function faultFromQuery(query: string): Fault {
  const fields = [...new URLSearchParams(query)].map(([name, text]) => [name, fromText(text, checkOf(name))])
  return readFault(Object.fromEntries(fields))
}

function fromText(text: string, isOfType: ReturnType<typeof checkOf>): unknown {
  // Of text alone, any text is one.
  return isOfType?.(text) ? text : parseJson(isOfType === isSizes ? `[${text}]` : text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(`A fault's value is not JSON: ${text.slice(0, 80)}`)
  }
}
