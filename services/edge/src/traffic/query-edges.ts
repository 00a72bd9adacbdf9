/**
 * Queries all edges over the bus. Each edge has the figures of its own requests alone.
 *
 * No edge announces itself, so an edge learns of others from their replies to anybody. The first question in a while waits for edges that
 * nobody knows. A later one ends when every known edge has replied. An edge that does not reply in time is no longer known.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '@gateway/bus/port'
import type { DescribeEdge, EdgeView } from '@gateway/contracts/edges-api'
import { rpcClient } from '@gateway/rpc/client'
import type { LiveCounts, RunningRequests } from '../admission/running-requests.ts'
import type { Traffic } from '../core/traffic.ts'
import { viewTraffic } from '../core/view-traffic.ts'

/** Of edges that nobody knows, and of known ones. */
export const REPLY_WITHIN_MS = { unknown: 150, known: 500 }
const KNOWN_FOR_MS = 60_000

export interface EdgeFigures {
  /** `known`: the edges that were expected to reply. */
  query(question: Omit<DescribeEdge, 'question'>): Promise<{ views: EdgeView[]; known: number }>
}

interface Described {
  bus: Bus
  traffic: Traffic
  running: Pick<RunningRequests, 'count' | 'streams' | 'live'>
  now(): number
  replyWithinMs?: typeof REPLY_WITHIN_MS
}

export async function openEdgeFigures({
  bus,
  traffic,
  running,
  now,
  replyWithinMs = REPLY_WITHIN_MS,
}: Described): Promise<EdgeFigures & AsyncDisposable> {
  const edge = rpcClient('edge', bus)
  const since = Math.floor(now() / 1_000)
  const knownSinceMs = new Map<string, number>()
  const open = new Map<string, (view: EdgeView) => void>()
  let queriedAtMs = -Infinity
  await using starting = new AsyncDisposableStack()
  starting.use(
    await edge.subscribe('edgesDescribed', ({ question, view }) => {
      knownSinceMs.set(view.edge, performance.now())
      open.get(question)?.(view)
    }),
  )
  starting.use(
    await edge.subscribe('edgesDescribe', (question) => {
      const { from, to, bucketSeconds } = question
      const slots = traffic.slots({ from, to, seconds: bucketSeconds }, now())
      const view = { edge: bus.processId, since, live: viewLive(running), ...viewTraffic(slots, question) }
      edge.publish('edgesDescribed', { question: question.question, view })
    }),
  )

  async function query(question: Omit<DescribeEdge, 'question'>): Promise<{ views: EdgeView[]; known: number }> {
    const id = randomUUID()
    const nowMs = performance.now()
    const views = new Map<string, EdgeView>()
    const allReplied = Promise.withResolvers<void>()
    for (const [name, seenAtMs] of knownSinceMs) if (seenAtMs < nowMs - KNOWN_FOR_MS) knownSinceMs.delete(name)
    const expected = new Set([bus.processId, ...knownSinceMs.keys()])
    const check = () => {
      if ([...expected].every((name) => views.has(name))) allReplied.resolve()
    }
    open.set(id, (view) => {
      views.set(view.edge, view)
      check()
    })
    const others = queriedAtMs < nowMs - KNOWN_FOR_MS ? sleep(replyWithinMs.unknown, undefined, { ref: false }) : null
    queriedAtMs = nowMs
    edge.publish('edgesDescribe', { question: id, ...question })
    await Promise.race([
      Promise.all([allReplied.promise, others]),
      sleep(replyWithinMs.known, undefined, { ref: false }),
    ])
    open.delete(id)
    for (const name of expected) if (!views.has(name)) knownSinceMs.delete(name)
    return { views: [...views.values()], known: new Set([...expected, ...views.keys()]).size }
  }

  const subscriptions = starting.move()
  return { query, [Symbol.asyncDispose]: () => subscriptions.disposeAsync() }
}

function viewLive(running: Described['running']): EdgeView['live'] {
  const { models, backends, projects } = running.live()
  return {
    requests: running.count,
    streams: running.streams,
    models: listOf(models),
    backends: listOf(backends),
    accounts: listOf(projects),
  }
}

/** The bus carries no message of any length. */
const MOST_LIVE = 500

function listOf(counts: LiveCounts['models']): EdgeView['live']['models'] {
  const rows = Array.from(counts, ([name, count]) => ({ name, ...count }))
  return rows.toSorted((a, b) => b.requests - a.requests).slice(0, MOST_LIVE)
}
