/**
 * Queries all edges over the bus. Each edge has the figures of its own requests alone.
 *
 * Every edge adds up its figures for every question, so the edge keeps the replies for a moment. A flood of one reader's questions
 * costs other edges no more than a few a second.
 */

import type { Bus } from '@gateway/bus/port'
import type { DescribeEdge, EdgeView } from '@gateway/contracts/edges-api'
import { rpcClient } from '@gateway/rpc/client'
import { openQueryAll, type QueryAll } from '@gateway/rpc/query-all'
import { keepFigures } from '../rpc/cached-figures.ts'
import type { LiveCounts, RunningRequests } from '../admission/running-requests.ts'
import type { Traffic } from '../core/traffic.ts'
import { viewTraffic } from '../core/view-traffic.ts'

type Question = Omit<DescribeEdge, 'question'>
export type EdgeFigures = Pick<QueryAll<Question, EdgeView>, 'query'>

/** No account has this tag. */
const ORGANIZATION = ''

interface Described {
  bus: Bus
  traffic: Traffic
  running: Pick<RunningRequests, 'count' | 'streams' | 'live'>
  now(): number
}

export async function openEdgeFigures({
  bus,
  traffic,
  running,
  now,
}: Described): Promise<EdgeFigures & AsyncDisposable> {
  const edge = rpcClient('edge', bus)
  const since = Math.floor(now() / 1_000)
  await using starting = new AsyncDisposableStack()
  const { query } = starting.use(
    await openQueryAll<Question, EdgeView>({
      publish: (question) => edge.publish('edgesDescribe', question),
      subscribe: (onReply) => edge.subscribe('edgesDescribed', onReply),
      nameOf: (view) => view.edge,
      self: bus.processId,
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
  const kept = keepFigures(({ of }: { account: string; of: Question }) => query(of))
  const subscriptions = starting.move()
  return {
    query: (of) => kept.read({ account: of.account ?? ORGANIZATION, of }),
    [Symbol.asyncDispose]: () => subscriptions.disposeAsync(),
  }
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
