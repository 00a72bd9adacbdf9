/**
 * Clients of Responses over WebSocket that send request after request, each of which continues the one before. A client
 * whose connection closes between two requests connects again and begins another conversation, as Codex does.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { connect, type TurnClient, type TurnEvent } from '../websocket/client.ts'

export interface SocketLoad {
  /** Requests whose last event says that they are complete. */
  readonly completed: number
  readonly connections: number
  /** Responses that had begun and did not end well. */
  readonly lost: readonly string[]
  /** Takes no new request and waits for those that run. */
  stop(): Promise<void>
}

const PAUSE_MS = 50
const THINKING_MS = 20
const MOST_TURNS = 20

export function startSocketLoad(url: string, key: string, model: string, clients: number): SocketLoad {
  const lost: string[] = []
  let completed = 0
  let connections = 0
  const stopping = new AbortController()

  async function converse(): Promise<void> {
    await using client = await connect(url, key)
    connections++
    let previous: string | null = null
    while (!stopping.signal.aborted) {
      const events = await readTurn(client, { model, input: 'Say: one two three four', previous_response_id: previous })
      const last = events?.at(-1)
      // Nothing has begun: the edge stops, and nobody pays.
      if (events === null || (events.length === 1 && last?.status === 503)) return
      if (last?.type !== 'response.completed') return void lost.push(JSON.stringify(last))
      completed++
      // A conversation without an end would take more and more of the edge's time.
      previous = completed % MOST_TURNS === 0 ? null : last.response!.id
      await delay(THINKING_MS)
    }
  }

  const running = Array.from({ length: clients }, async () => {
    while (!stopping.signal.aborted) await converse().catch(() => delay(PAUSE_MS))
  })
  return {
    lost,
    get completed() {
      return completed
    },
    get connections() {
      return connections
    },
    async stop() {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

/** Null: the connection closed before the first event. */
async function readTurn(client: TurnClient, fields: object): Promise<TurnEvent[] | null> {
  const events: TurnEvent[] = []
  client.send({ type: 'response.create', ...fields })
  try {
    for (;;) {
      events.push(await client.next())
      if (client.isLast(events.at(-1)!)) return events
    }
  } catch {
    return events.length === 0 ? null : events
  }
}
