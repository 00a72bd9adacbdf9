/**
 * A collector of CloudEvents with OpenMeter's interface. It keeps the first event of each `source` and `id`.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ExportedRow, type Summary, summarize } from './exported.ts'

export interface CollectedEvent {
  specversion: string
  id: string
  source: string
  type: string
  subject: string
  time: string
  data: Pick<ExportedRow, 'request_id' | 'entry' | 'charge' | 'prompt_tokens'>
}

export interface Collector extends AsyncDisposable {
  url: string
  token: string
  /** By source and id. */
  events: Map<string, CollectedEvent>
  /** Sent again, though they are known. */
  repeated: number
  /** Replies in place of a 204; the events of a batch are kept where it returns `keep`. */
  behave(response: ServerResponse): 'keep' | 'lose' | undefined
  refused: string[]
}

const MOST_EVENTS = 100

export async function startCollector(token = 'a token of the collector'): Promise<Collector> {
  const server = createServer((request, response) => void collect(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const collector: Collector = {
    url: `http://127.0.0.1:${port}/api/v1/events`,
    token,
    events: new Map(),
    repeated: 0,
    behave: () => undefined,
    refused: [],
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }

  async function collect(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const events = JSON.parse(Buffer.concat(parts).toString()) as CollectedEvent[]
    const fault = faultOf(request, events)
    if (fault !== null) {
      collector.refused.push(fault)
      return void response.writeHead(400).end(fault)
    }
    const behaviour = collector.behave(response)
    if (behaviour !== 'lose') events.forEach(keep)
    if (behaviour === undefined) response.writeHead(204).end()
  }

  function faultOf({ method, url, headers }: IncomingMessage, events: readonly CollectedEvent[]): string | null {
    if (method !== 'POST' || url !== '/api/v1/events') return `${method} ${url}`
    if (headers.authorization !== `Bearer ${token}`) return 'not authorized'
    if (headers['content-type'] !== 'application/cloudevents-batch+json') return `content ${headers['content-type']}`
    if (events.length === 0 || events.length > MOST_EVENTS) return `${events.length} events`
    const isComplete = (event: CollectedEvent) =>
      event.specversion === '1.0' && [event.id, event.source, event.type, event.subject, event.time].every(Boolean)
    return events.every(isComplete) ? null : 'an event lacks an attribute'
  }

  function keep(event: CollectedEvent): void {
    const name = `${event.source} ${event.id}`
    if (collector.events.has(name)) collector.repeated++
    else collector.events.set(name, event)
  }

  return collector
}

export function summarizeEvents({ events }: Pick<Collector, 'events'>): Summary {
  return summarize(Array.from(events.values(), ({ data }) => data))
}
