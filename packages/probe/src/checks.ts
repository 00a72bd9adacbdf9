/**
 * The questions of a conformance run, each with the most that it may cost. A check tells apart a server that does what
 * it is asked from one that merely does not refuse.
 */

import { Buffer } from 'node:buffer'
import { isJson, listOf, numberOf, type ChatBody, type Json } from './dialect.ts'
import { rootOf, type ServerKind } from './describe-server.ts'
import { RED_SQUARE } from './red-square.ts'
import type { ChatAnswer, Server } from './server.ts'

/** `taken`: not refused, and its effect cannot be seen in an answer. */
export type Result = 'yes' | 'taken' | 'no' | 'unknown'

export interface Finding {
  check: string
  result: Result
  /** What was seen, or the server's own words. */
  note: string
}

export interface Check {
  name: string
  does: 'chat' | 'embeddings'
  /** The server writes no more than these, in all questions of the check together. */
  atMostTokens: number
  requests: number
  run(probing: Probing): Promise<Omit<Finding, 'check'>>
}

export interface Probing {
  server: Server
  kind: ServerKind | null
  model: string
  /** Asks with the cap under the name that the server takes. */
  chat(body: ChatBody, capTokens: number, leave?: AbortSignal): Promise<ChatAnswer>
  /** Asks with exactly this body. */
  chatAsWritten(body: ChatBody): Promise<ChatAnswer>
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
const refused = ({ status, error }: ChatAnswer) => ({
  result: 'no' as const,
  note: status === 0 ? error : `${status}: ${error}`,
})
const isOk = ({ status, error }: ChatAnswer) => status === 200 && error === ''
const YES = (note = '') => ({ result: 'yes' as const, note })
const NO = (note: string) => ({ result: 'no' as const, note })
const TAKEN = { result: 'taken' as const, note: '' }

function cap(name: 'max_tokens' | 'max_completion_tokens'): Check {
  return {
    name,
    does: 'chat',
    atMostTokens: TINY_TOKENS,
    requests: 1,
    run: async ({ chatAsWritten }) => {
      const answer = await chatAsWritten({ ...say('Count from 1 to 12.'), [name]: TINY_TOKENS })
      if (!isOk(answer)) return refused(answer)
      const tokens = answer.usage?.completion ?? null
      if (tokens !== null && tokens > TINY_TOKENS) return NO(`ignored: ${tokens} tokens instead of ${TINY_TOKENS}`)
      return answer.finish === 'length' || answer.finish === 'max_tokens' || tokens !== null ? YES() : TAKEN
    },
  }
}

/** Sent with a short question; `seen` tells whether the answer shows its effect. */
function parameter(name: string, members: Json, seen?: (answer: ChatAnswer) => boolean): Check {
  return {
    name,
    does: 'chat',
    atMostTokens: SHORT_TOKENS * (numberOf(members['n']) || 1),
    requests: 1,
    run: async ({ chat }) => {
      const answer = await chat({ ...say('Count from 1 to 9.'), ...members }, SHORT_TOKENS)
      if (!isOk(answer)) return refused(answer)
      if (!seen) return TAKEN
      return seen(answer) ? YES() : NO('ignored')
    },
  }
}

function hasCalled({ tools }: ChatAnswer): boolean {
  const [call] = tools
  return call?.name === 'get_weather' && isJson(parsed(call.arguments))
}

function tool(name: string, body: ChatBody): Check {
  return {
    name,
    does: 'chat',
    atMostTokens: LONG_TOKENS,
    requests: 1,
    run: async ({ chat }) => {
      const answer = await chat(body, LONG_TOKENS)
      if (!isOk(answer)) return refused(answer)
      if (hasCalled(answer)) return YES(answer.tools[0]!.arguments)
      return NO(answer.tools.length > 0 ? 'its arguments are no JSON object' : 'no tool was called')
    },
  }
}

function json(name: string, format: Json, fits: (value: unknown) => boolean): Check {
  return {
    name,
    does: 'chat',
    atMostTokens: LONG_TOKENS,
    requests: 1,
    run: async ({ chat }) => {
      const question = say('Tell the city Paris and its number of inhabitants as JSON.')
      const answer = await chat({ ...question, response_format: format }, LONG_TOKENS)
      if (!isOk(answer)) return refused(answer)
      return fits(parsed(answer.text)) ? YES() : NO(`taken, but it wrote: ${answer.text.slice(0, 60)}`)
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const chat: Check = {
  name: 'chat',
  does: 'chat',
  atMostTokens: SHORT_TOKENS,
  requests: 1,
  run: async ({ chat }) => {
    const answer = await chat(HELLO, SHORT_TOKENS)
    if (!isOk(answer)) return refused(answer)
    return answer.choices > 0 ? YES(answer.text.slice(0, 40)) : NO('no choice in its answer')
  },
}

const usage: Check = {
  name: 'usage',
  does: 'chat',
  atMostTokens: SHORT_TOKENS,
  requests: 1,
  run: async ({ chat }) => {
    const answer = await chat(HELLO, SHORT_TOKENS)
    if (!isOk(answer)) return refused(answer)
    return answer.usage ? YES(`${answer.usage.prompt} + ${answer.usage.completion} tokens`) : NO('it tells none')
  },
}

const stream: Check = {
  name: 'stream',
  does: 'chat',
  atMostTokens: SHORT_TOKENS,
  requests: 1,
  run: async ({ chat }) => {
    const answer = await chat({ ...HELLO, stream: true }, SHORT_TOKENS)
    if (!isOk(answer)) return refused(answer)
    if (!answer.ended) return NO('it ends without its last event')
    const ms = answer.firstContentMs
    return YES(ms === null ? 'no content' : `first content after ${Math.round(ms)} ms`)
  },
}

const streamUsage: Check = {
  name: 'usage in streams',
  does: 'chat',
  atMostTokens: SHORT_TOKENS,
  requests: 1,
  run: async ({ chat }) => {
    const answer = await chat({ ...HELLO, stream: true, stream_options: { include_usage: true } }, SHORT_TOKENS)
    if (!isOk(answer)) return refused(answer)
    return answer.usage ? YES(`${answer.usage.prompt} + ${answer.usage.completion} tokens`) : NO('it tells none')
  },
}

const vision: Check = {
  name: 'vision',
  does: 'chat',
  atMostTokens: LONG_TOKENS,
  requests: 1,
  run: async ({ chat }) => {
    const content = [
      { type: 'text', text: 'Which colour is this square? Answer with one word.' },
      { type: 'image_url', image_url: { url: RED_SQUARE } },
    ]
    const answer = await chat(say(content), LONG_TOKENS)
    if (!isOk(answer)) return refused(answer)
    return /red/i.test(answer.text) ? YES('it names the colour') : NO(`taken, but it says: ${answer.text.slice(0, 40)}`)
  },
}

/** Where each server tells how many answers it generates. */
const COUNTERS: Partial<Record<ServerKind, (server: Server) => Promise<number | null>>> = {
  'llama.cpp': async (server) => {
    const { json } = await server.ask(`${rootOf(server)}/slots`)
    return Array.isArray(json) ? listOf(json).filter((slot) => slot['is_processing'] === true).length : null
  },
  vllm: (server) => readMetric(server, /^vllm:num_requests_running(?:{.*})? (\S+)$/m),
  sglang: (server) => readMetric(server, /^sglang:num_running_reqs(?:{.*})? (\S+)$/m),
}

async function readMetric(server: Server, line: RegExp): Promise<number | null> {
  const { json } = await server.ask(`${rootOf(server)}/metrics`)
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
    if (!count || before == null) return { result: 'unknown', note: 'the server does not tell what it generates' }
    const leaving = new AbortController()
    const asking = chat({ ...COUNT, stream: true }, ABORT_TOKENS, leaving.signal)
    const begun = await waitUntil(async () => ((await count(server)) ?? 0) > before)
    leaving.abort()
    await asking
    if (!begun) return { result: 'unknown', note: 'the answer was whole before it could be left' }
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

/** A server without keys takes any: that is told, too. */
const badKey: Check = {
  name: 'refuses a bad key',
  does: 'chat',
  atMostTokens: 0,
  requests: 1,
  run: async ({ server }) => {
    const { status } = await server.ask('/models', undefined, {
      authorization: 'Bearer not-a-key',
      'x-api-key': 'not-a-key',
    })
    if (status === 401 || status === 403) return YES(String(status))
    return NO(`${status} to its list of models`)
  },
}

function embedding(name: string, members: (text: string) => Json, seen: (vectors: unknown[]) => string | null): Check {
  return {
    name,
    does: 'embeddings',
    atMostTokens: 0,
    requests: 1,
    run: async ({ server, model }) => {
      const body = { model, ...members('The quick brown fox') }
      const { status, json: answer, error } = await server.ask('/embeddings', body)
      if (status !== 200) return { result: 'no', note: `${status}: ${error}` }
      const vectors = listOf(isJson(answer) ? answer['data'] : []).map(({ embedding }) => embedding)
      const note = seen(vectors)
      return note === null ? NO('another answer than was asked for') : YES(note)
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
  run: async ({ server, model }) => {
    const lengths: number[] = []
    for (const wish of [{ dimensions: PROMISED_DIMENSIONS }, {}]) {
      const { json: answer } = await server.ask('/embeddings', { model, input: 'The quick brown fox', ...wish })
      const length = dimensionsOf(listOf(isJson(answer) ? answer['data'] : [])[0]?.['embedding'])
      if (length === PROMISED_DIMENSIONS) return YES('dimensions' in wish ? 'when asked for them' : 'of its own accord')
      lengths.push(length)
    }
    return NO(`${lengths.at(-1)} dimensions`)
  },
}

export const CHECKS: readonly Check[] = [
  chat,
  cap('max_tokens'),
  cap('max_completion_tokens'),
  usage,
  stream,
  streamUsage,
  tool('tools', withTool('required')),
  tool('tools in streams', { ...withTool('required'), stream: true }),
  tool('a tool by name', withTool({ type: 'function', function: { name: 'get_weather' } })),
  json('JSON object', { type: 'json_object' }, isJson),
  json(
    'JSON schema',
    { type: 'json_schema', json_schema: { name: 'city', strict: true, schema: SCHEMA } },
    (value) => isJson(value) && typeof value['city'] === 'string' && Number.isInteger(value['inhabitants']),
  ),
  vision,
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
  embedding('embeddings', (input) => ({ input }), oneVector),
  promisedDimensions,
  embedding(
    'many inputs',
    (input) => ({ input: [input, input] }),
    (vectors) => (vectors.length === 2 ? '2 vectors' : null),
  ),
  embedding('token arrays', () => ({ input: [[1, 2, 3]] }), oneVector),
  embedding(
    'dimensions',
    (input) => ({ input, dimensions: 64 }),
    ([vector]) => (dimensionsOf(vector) === 64 ? '64 dimensions' : null),
  ),
  embedding(
    'base64',
    (input) => ({ input, encoding_format: 'base64' }),
    ([vector]) => (typeof vector === 'string' ? `${Buffer.from(vector, 'base64').length / 4} dimensions` : null),
  ),
]
