/**
 * The checks of a conformance run, each with the most that it may cost. A check distinguishes a server that carries out a
 * request from one that merely does not refuse it.
 */

import { Buffer } from 'node:buffer'
import { isObject, objectsOf, type JsonObject } from '@gateway/contracts/json'
import { numberOf, parseJson, type ChatBody } from './dialect.ts'
import { rootOf, type ServerKind } from './describe-server.ts'
import type { ChatResponse, Server } from './server.ts'

/** A PNG of 32 by 32 red pixels. */
const RED_SQUARE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC'

/**
 * `taken`: the server did not refuse it, and no response can show its effect. `no response`: the server did not respond in time,
 * so the probe cannot know whether it has the ability.
 */
export type Result = 'yes' | 'taken' | 'no' | 'no response' | 'unknown'

export interface Finding {
  check: string
  result: Result
  /** The observation, or the server's own words. */
  note: string
}

export interface Check {
  name: string
  does: 'chat' | 'embeddings'
  /** The server writes no more than these, in all questions of the check together. */
  atMostTokens: number
  requests: number
  run(probing: Probing): Promise<Verdict>
}

export interface Probing {
  server: Server
  kind: ServerKind | null
  model: string
  /** Sends the request with the cap under the name that the server takes. */
  chat(body: ChatBody, capTokens: number, leave?: AbortSignal): Promise<ChatResponse>
  /** Sends exactly this body. */
  chatAsWritten(body: ChatBody): Promise<ChatResponse>
}

const SHORT_TOKENS = 32
const LONG_TOKENS = 256
const TINY_TOKENS = 8

const say = (content: unknown): ChatBody => ({ messages: [{ role: 'user', content }] })
const HELLO = say('Say hello.')
const COUNT = say('Count from 1 to 200, one number in each line.')
const TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const WEATHER = say('What is the weather in Paris? Call the tool.')
const withTool = (choice: unknown) => ({ ...WEATHER, tools: [TOOL], tool_choice: choice })
const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, inhabitants: { type: 'integer' } },
  required: ['city', 'inhabitants'],
  additionalProperties: false,
}
type Verdict = Omit<Finding, 'check'>
const YES = (note = ''): Verdict => ({ result: 'yes', note })
const NO = (note: string): Verdict => ({ result: 'no', note })
const LATE = (note: string): Verdict => ({ result: 'no response', note })
const ACCEPTED: Verdict = { result: 'taken', note: '' }

/** One request, and the verdict on its response. Without a `judge`, a request that succeeds counts as `taken`. */
function chatCheck(
  name: string,
  body: ChatBody,
  judge: (reply: ChatResponse) => Verdict = () => ACCEPTED,
  { atMostTokens = SHORT_TOKENS, asWritten = false } = {},
): Check {
  return {
    name,
    does: 'chat',
    atMostTokens: atMostTokens * (numberOf(body['n']) || 1),
    requests: 1,
    run: async ({ chat, chatAsWritten }) => {
      const reply = await (asWritten ? chatAsWritten(body) : chat(body, atMostTokens))
      const { status, error, isLate } = reply
      if (isLate) return LATE(error)
      if (status === 200 && error === '') return judge(reply)
      return NO(status === 0 ? error : `${status}: ${error}`)
    },
  }
}

function cap(name: 'max_tokens' | 'max_completion_tokens'): Check {
  const body = { ...say('Count from 1 to 12.'), [name]: TINY_TOKENS }
  const judge = ({ usage, finish }: ChatResponse): Verdict => {
    const tokens = usage?.completion ?? null
    if (tokens !== null && tokens > TINY_TOKENS) return NO(`ignored: ${tokens} tokens instead of ${TINY_TOKENS}`)
    return finish === 'length' || finish === 'max_tokens' || tokens !== null ? YES() : ACCEPTED
  }
  return chatCheck(name, body, judge, { atMostTokens: TINY_TOKENS, asWritten: true })
}

/** `seen` returns whether the response shows the parameter's effect. */
function parameter(name: string, members: JsonObject, seen?: (reply: ChatResponse) => boolean): Check {
  const judge = seen && ((reply: ChatResponse) => (seen(reply) ? YES() : NO('ignored')))
  return chatCheck(name, { ...say('Count from 1 to 9.'), ...members }, judge)
}

function tool(name: string, body: ChatBody): Check {
  const judge = ({ tools }: ChatResponse): Verdict => {
    const [call] = tools
    if (!call) return NO('no tool was called')
    if (call.name === 'get_weather' && isObject(parseJson(call.arguments))) return YES(call.arguments)
    return NO('its arguments are no JSON object')
  }
  return chatCheck(name, body, judge, { atMostTokens: LONG_TOKENS })
}

function json(name: string, format: JsonObject, fits: (value: unknown) => boolean): Check {
  const body = { ...say('Tell the city Paris and its number of inhabitants as JSON.'), response_format: format }
  const judge = ({ text }: ChatResponse) =>
    fits(parseJson(text)) ? YES() : NO(`taken, but it wrote: ${text.slice(0, 60)}`)
  return chatCheck(name, body, judge, { atMostTokens: LONG_TOKENS })
}

const judgeUsage = ({ usage }: ChatResponse): Verdict =>
  usage ? YES(`${usage.prompt} + ${usage.completion} tokens`) : NO('it reports none')

function judgeStream({ ended, firstContentMs: ms }: ChatResponse): Verdict {
  if (!ended) return NO('it ends without its last event')
  return YES(ms === null ? 'no content' : `first content after ${Math.round(ms)} ms`)
}

const SQUARE = say([
  { type: 'text', text: 'Which colour is this square? Answer with one word.' },
  { type: 'image_url', image_url: { url: RED_SQUARE } },
])
const judgeColour = ({ text }: ChatResponse): Verdict =>
  /red/i.test(text) ? YES('it names the colour') : NO(`taken, but it says: ${text.slice(0, 40)}`)

/** Reads from each kind of server the number of responses that it is generating. */
const COUNTERS: Partial<Record<ServerKind, (server: Server) => Promise<number | null>>> = {
  'llama.cpp': async (server) => {
    const { json } = await server.sendRequest(`${rootOf(server)}/slots`)
    return Array.isArray(json) ? objectsOf(json).filter((slot) => slot['is_processing'] === true).length : null
  },
  vllm: (server) => readMetric(server, /^vllm:num_requests_running(?:{.*})? (\S+)$/m),
  sglang: (server) => readMetric(server, /^sglang:num_running_reqs(?:{.*})? (\S+)$/m),
}

async function readMetric(server: Server, line: RegExp): Promise<number | null> {
  const { json } = await server.sendRequest(`${rootOf(server)}/metrics`)
  const value = line.exec(typeof json === 'string' ? json : '')?.[1]
  return value === undefined ? null : Number(value)
}

const LEFT_WITHIN_MS = 5_000
const ABORT_TOKENS = 512

const abort: Check = {
  name: 'stops when the client leaves',
  does: 'chat',
  atMostTokens: ABORT_TOKENS,
  requests: 1,
  run: async ({ server, kind, chat }) => {
    const count = kind ? COUNTERS[kind] : undefined
    const before = await count?.(server)
    if (!count || before == null) return { result: 'unknown', note: 'the server does not report its running requests' }
    const leaving = new AbortController()
    const streaming = chat({ ...COUNT, stream: true }, ABORT_TOKENS, leaving.signal)
    const begun = await waitUntil(async () => ((await count(server)) ?? 0) > before)
    leaving.abort()
    await streaming
    if (!begun) return { result: 'unknown', note: 'the response was complete before the client could leave' }
    const leftAtMs = performance.now()
    const stopped = await waitUntil(async () => ((await count(server)) ?? 0) <= before)
    return stopped ? YES(`within ${Math.ceil(performance.now() - leftAtMs)} ms`) : NO(`not in ${LEFT_WITHIN_MS} ms`)
  },
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<boolean> {
  const deadlineMs = performance.now() + LEFT_WITHIN_MS
  while (performance.now() < deadlineMs) {
    if (await isSo()) return true
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return false
}

/** A server without keys accepts any key. The probe reports that, too. */
const badKey: Check = {
  name: 'refuses a bad key',
  does: 'chat',
  atMostTokens: 0,
  requests: 1,
  run: async ({ server }) => {
    const headers = { authorization: 'Bearer not-a-key', 'x-api-key': 'not-a-key' }
    const { status, error, isLate } = await server.sendRequest('/models', undefined, headers)
    if (isLate) return LATE(error)
    return status === 401 || status === 403 ? YES(String(status)) : NO(`${status} to its list of models`)
  },
}

const TEXT = 'The quick brown fox'

async function embed(
  { server, model }: Probing,
  members: JsonObject,
): Promise<{ refusal?: Verdict; vectors: unknown[] }> {
  const { status, json: reply, error, isLate } = await server.sendRequest('/embeddings', { model, ...members })
  if (isLate) return { refusal: LATE(error), vectors: [] }
  if (status !== 200) return { refusal: NO(`${status}: ${error}`), vectors: [] }
  return { vectors: objectsOf(isObject(reply) ? reply['data'] : []).map(({ embedding }) => embedding) }
}

function embedding(name: string, members: JsonObject, seen: (vectors: unknown[]) => string | null): Check {
  return {
    name,
    does: 'embeddings',
    atMostTokens: 0,
    requests: 1,
    run: async (probing) => {
      const { refusal, vectors } = await embed(probing, members)
      const note = seen(vectors)
      return refusal ?? (note === null ? NO('the response does not match the request') : YES(note))
    },
  }
}

const dimensionsOf = (vector: unknown) => (Array.isArray(vector) ? vector.length : 0)
const oneVector = ([vector]: unknown[]) => (dimensionsOf(vector) > 0 ? `${dimensionsOf(vector)} dimensions` : null)

/** The length of the vectors that `svc-embed` promises. */
const PROMISED_DIMENSIONS = 768

const promisedDimensions: Check = {
  name: `${PROMISED_DIMENSIONS} dimensions`,
  does: 'embeddings',
  atMostTokens: 0,
  requests: 2,
  run: async (probing) => {
    let length = 0
    for (const options of [{ dimensions: PROMISED_DIMENSIONS }, {}]) {
      const { refusal, vectors } = await embed(probing, { input: TEXT, ...options })
      if (refusal?.result === 'no response') return refusal
      length = dimensionsOf(vectors[0])
      if (length === PROMISED_DIMENSIONS) return YES('dimensions' in options ? 'when requested' : 'by default')
    }
    return NO(`${length} dimensions`)
  },
}

export const CHECKS: readonly Check[] = [
  chatCheck('chat', HELLO, ({ choices, text }) =>
    choices > 0 ? YES(text.slice(0, 40)) : NO('no choice in its response'),
  ),
  cap('max_tokens'),
  cap('max_completion_tokens'),
  chatCheck('usage', HELLO, judgeUsage),
  chatCheck('stream', { ...HELLO, stream: true }, judgeStream),
  chatCheck('usage in streams', { ...HELLO, stream: true, stream_options: { include_usage: true } }, judgeUsage),
  tool('tools', withTool('required')),
  tool('tools in streams', { ...withTool('required'), stream: true }),
  tool('a tool by name', withTool({ type: 'function', function: { name: 'get_weather' } })),
  json('JSON object', { type: 'json_object' }, isObject),
  json(
    'JSON schema',
    { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: SCHEMA } },
    (value) => isObject(value) && typeof value['city'] === 'string' && Number.isInteger(value['inhabitants']),
  ),
  chatCheck('vision', SQUARE, judgeColour, { atMostTokens: LONG_TOKENS }),
  parameter('developer messages', {
    messages: [{ role: 'developer', content: 'Be brief.' }, ...HELLO.messages],
  }),
  parameter('temperature', { temperature: 0.2 }),
  parameter('top_p', { top_p: 0.9 }),
  parameter('seed', { seed: 7 }),
  parameter('stop', { stop: ['5'] }, ({ text }) => !text.includes('5')),
  parameter('presence_penalty', { presence_penalty: 0.5 }),
  parameter('frequency_penalty', { frequency_penalty: 0.5 }),
  parameter('logprobs', { logprobs: true, top_logprobs: 2 }, ({ logprobs }) => logprobs),
  parameter('n', { n: 2 }, ({ choices }) => choices === 2),
  parameter('parallel_tool_calls', { tools: [TOOL], parallel_tool_calls: false }),
  parameter('reasoning_effort', { reasoning_effort: 'low' }),
  abort,
  badKey,
  embedding('embeddings', { input: TEXT }, oneVector),
  promisedDimensions,
  embedding('many inputs', { input: [TEXT, TEXT] }, (vectors) => (vectors.length === 2 ? '2 vectors' : null)),
  embedding('token arrays', { input: [[1, 2, 3]] }, oneVector),
  embedding('dimensions', { input: TEXT, dimensions: 64 }, ([vector]) =>
    dimensionsOf(vector) === 64 ? '64 dimensions' : null,
  ),
  embedding('base64', { input: TEXT, encoding_format: 'base64' }, ([vector]) =>
    typeof vector === 'string' ? `${Buffer.from(vector, 'base64').length / 4} dimensions` : null,
  ),
]
