/**
 * Runs the load generator (`native/load.c`) and reads its measurements.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { ClientDialect } from '@gateway/contracts/vendors'
import type { FunctionTool } from '@gateway/testing/client-fixture'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import * as z from 'zod'

export interface Endpoint {
  ports: number[]
  path: string
  /** The API that the path speaks; chat by default. */
  dialect?: ClientDialect
  model: string
  headers: Record<string, string>
  /** Bearer credentials, all of one length, of which each request draws one; none: the header as it is. */
  tokens?: string[]
}

export interface LoadOptions {
  connections: number
  seconds: number
  /** Requests per second, due at even distances; without it each connection sends again as soon as it has its response. */
  rate?: number
  /** Connections are opened over this time. */
  rampSeconds?: number
  /** Latencies count from here; the totals count everything. */
  measureAfterSeconds?: number
  /** The time that running requests have to end; 0 cuts them. */
  drainSeconds?: number
  /** A client that has waited so long gives up and closes its connection; without it, none does. */
  timeoutSeconds?: number
  signal?: AbortSignal
}

/** An order to the backend, in the prompt. Times in microseconds. */
export interface Order {
  stream: boolean
  chunks?: number
  everyUs?: number
  firstUs?: number
  bytes?: number
  promptBytes?: number
  /** Function tools that the model may call, of 1.2 KB each. */
  tools?: number
  /** Messages behind the prompt, in the endpoint's dialect. */
  turns?: readonly object[]
  /** The client's cap on the response. The gateway ends a longer one. */
  capTokens?: number
}

const distribution = z.object({
  count: z.number(),
  mean: z.number().default(0),
  p50: z.number().default(0),
  p90: z.number().default(0),
  p99: z.number().default(0),
  p999: z.number().default(0),
  max: z.number().default(0),
})

const loadResult = z.object({
  seconds: z.number(),
  requests: z.number(),
  failed: z.number(),
  broken: z.number(),
  refused: z.number(),
  unfinished: z.number(),
  unsent: z.number(),
  /** Their clients gave up and closed their connections, or found none free in time. */
  impatient: z.number(),
  chunks: z.number(),
  bytes: z.number(),
  cpuSeconds: z.number(),
  statuses: z.record(z.string(), z.number()),
  /** Milliseconds. */
  latency: distribution,
  firstByte: distribution,
  lag: distribution,
  sendLate: distribution,
  /** The lateness of the generator's own timers. */
  ownLate: distribution,
  /** Until a 429 or a 503. */
  refusal: distribution,
  firstFailure: z.string(),
})

export type LoadResult = z.infer<typeof loadResult>

export async function runLoad(
  program: string,
  endpoint: Endpoint,
  order: Order,
  options: LoadOptions,
): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-bench-load-'))
  try {
    const request = join(folder, 'request')
    await writeFile(request, requestText(endpoint, order))
    const args = ['--ports', endpoint.ports.join(','), '--request', request]
    if (endpoint.tokens) {
      const tokens = join(folder, 'tokens')
      await writeFile(tokens, endpoint.tokens.join('\n'), { mode: 0o600 })
      args.push('--tokens', tokens)
    }
    args.push('--connections', String(options.connections), '--seconds', String(options.seconds))
    if (options.rate !== undefined) args.push('--rate', String(options.rate))
    if (options.rampSeconds !== undefined) args.push('--ramp', String(options.rampSeconds))
    if (options.measureAfterSeconds !== undefined) args.push('--after', String(options.measureAfterSeconds))
    if (options.drainSeconds !== undefined) args.push('--drain', String(options.drainSeconds))
    if (options.timeoutSeconds !== undefined) args.push('--patience', String(options.timeoutSeconds))
    if (order.stream && (endpoint.dialect ?? 'chat') === 'chat') args.push('--expect-done')
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], signal: options.signal })
    const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
    return loadResult.parse(JSON.parse(output))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const USUAL_CAP_TOKENS = 1_000
const SENTENCE = 'Please summarise what the operator of a gateway should look at first. '

const PARAMETERS = ['path', 'pattern', 'content', 'command', 'reason']

function toolNamed(name: string): FunctionTool {
  const property = { type: 'string', description: SENTENCE.trim() }
  const properties = Object.fromEntries(PARAMETERS.map((parameter) => [parameter, property]))
  const schema = { type: 'object', properties, required: PARAMETERS.slice(0, 2), additionalProperties: false }
  return { name, description: SENTENCE.repeat(7).trim(), schema }
}

/** The list of messages is the one list in the body of each dialect. */
function withTurns(body: object, turns: readonly object[]): object {
  const longer = Object.entries(body).map(([name, value]): [string, unknown] =>
    Array.isArray(value) ? [name, [...(value as unknown[]), ...turns]] : [name, value],
  )
  return Object.fromEntries(longer)
}

function requestText(endpoint: Endpoint, order: Order): string {
  const { stream, chunks = 10, everyUs = 0, firstUs = 0, bytes = 900, promptBytes = 200 } = order
  const { tools = 0, turns = [], capTokens = USUAL_CAP_TOKENS } = order
  const prompt = `bench chunks=${chunks} every_us=${everyUs} first_us=${firstUs} bytes=${bytes}. `
  const content = prompt + SENTENCE.repeat(Math.ceil(promptBytes / SENTENCE.length)).slice(0, promptBytes)
  const offered = Array.from({ length: tools }, (_, at) => toolNamed(`tool_${at}`))
  const client = CLIENTS[endpoint.dialect ?? 'chat']
  const functions = tools > 0 ? { tools: client.functions(offered) } : {}
  const body = JSON.stringify({
    model: endpoint.model,
    stream,
    ...withTurns(client.body(content, capTokens), turns),
    ...functions,
  })
  const headers: Record<string, string> = {
    host: `127.0.0.1:${endpoint.ports[0]}`,
    'content-type': 'application/json',
    accept: stream ? 'text/event-stream' : 'application/json',
    ...(endpoint.tokens && { authorization: 'Bearer $TOKEN' }),
    ...endpoint.headers,
    'content-length': String(body.length),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${endpoint.path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
