/**
 * Clients that send requests without a pause, plain and streamed, and note their results.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { type Address, sendRaw } from './gateway.ts'

export interface Outcome {
  url: string
  streamed: boolean
  requestId: string | null
  /** The end of the response arrived whole: its JSON, or `[DONE]`. */
  completed: boolean
  /** As the response stated them. */
  tokens: number
  /** The failure in the client's eyes: a status, `broken` in the middle, `unreachable`, `hung`. */
  problem: string | null
  /** The body of a refusal; the last event of a stream without `[DONE]`; why nobody was reached. */
  detail: string
  startedAtMs: number
  endedAtMs: number
}

export interface Load {
  readonly outcomes: readonly Outcome[]
  /** Takes no new request and waits for those that run. */
  stop(): Promise<void>
}

const GIVE_UP_MS = 60_000
/** A client whose edge is away tries again after this. */
const PAUSE_MS = 50

export interface LoadOptions {
  model: string
  clients: number
  /** Streams alone, of so many words; without it, streamed and plain of various lengths. */
  streamsOfWords?: number
  /** The clients come one after the other within so long; without it, at once. */
  spreadMs?: number
}

export function startLoad(gateway: Pick<Address, 'urls'>, keys: string[], options: LoadOptions): Load {
  const { streamsOfWords, spreadMs = 0 } = options
  const outcomes: Outcome[] = []
  const stopping = new AbortController()
  const client = async (index: number) => {
    const url = gateway.urls[index % gateway.urls.length]!
    if (spreadMs > 0) await delay((spreadMs * index) / options.clients)
    for (let turn = 0; !stopping.signal.aborted; turn++) {
      const streamed = streamsOfWords !== undefined || (index + turn) % 2 === 0
      const words = streamsOfWords ?? 20 + ((index * 31 + turn * 7) % 100)
      const outcome = await requestOnce(url, keys[index % keys.length]!, options.model, streamed, words)
      outcomes.push(outcome)
      if (outcome.problem !== null) await delay(PAUSE_MS)
    }
  }
  const clients = Array.from({ length: options.clients }, (_, index) => client(index))
  return {
    outcomes,
    async stop() {
      stopping.abort()
      await Promise.all(clients)
    },
  }
}

async function requestOnce(
  url: string,
  key: string,
  model: string,
  streamed: boolean,
  words: number,
): Promise<Outcome> {
  const outcome: Outcome = {
    url,
    streamed,
    requestId: null,
    completed: false,
    tokens: 0,
    problem: null,
    detail: '',
    startedAtMs: Date.now(),
    endedAtMs: 0,
  }
  const body = {
    model,
    messages: [{ role: 'user', content: `${words} words` }],
    ...(streamed ? { stream: true, stream_options: { include_usage: true } } : {}),
  }
  try {
    const signal = AbortSignal.timeout(GIVE_UP_MS)
    const response = await sendRaw(url, '/v1/chat/completions', { key, body, signal })
    outcome.requestId = response.headers.get('x-request-id')
    outcome.problem = 'broken'
    const text = await response.text()
    outcome.problem = null
    if (response.status !== 200) Object.assign(outcome, { problem: String(response.status), detail: text })
    else if (streamed) readStream(text, outcome)
    else Object.assign(outcome, { completed: true, tokens: JSON.parse(text).usage.total_tokens })
  } catch (error) {
    if (error instanceof DOMException) outcome.problem = 'hung'
    else if (outcome.problem === null) Object.assign(outcome, { problem: 'unreachable', detail: causeOf(error) })
  }
  outcome.endedAtMs = Date.now()
  return outcome
}

function causeOf(error: unknown): string {
  return String(error instanceof Error ? (error.cause ?? error) : error)
}

function readStream(text: string, outcome: Outcome): void {
  const events = text.trim().split('\n\n')
  outcome.completed = events.at(-1) === 'data: [DONE]'
  if (!outcome.completed) Object.assign(outcome, { problem: 'broken', detail: events.at(-1) })
  else outcome.tokens = JSON.parse(events.at(-2)!.slice('data: '.length)).usage.total_tokens
}
