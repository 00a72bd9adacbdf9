/**
 * The config revision of each edge, keys and metering process. Every process replies for itself, so the edge waits for a moment: it
 * does not know the number of processes. A process of release 0.1.0 does not reply.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '@gateway/bus/port'
import type { ConfigView } from '@gateway/contracts/config-api'
import { describeConfig } from '@gateway/rpc/describe-config'
import { rpcClient } from '@gateway/rpc/client'

/** As long as a router waits for the other routers. */
const RESPONSES_WITHIN_MS = 1_000

export interface ConfigViews extends AsyncDisposable {
  requestAll(): Promise<ConfigView[]>
}

/** `revision`: of this edge, which replies to other edges and to itself. */
export async function openConfigViews(
  bus: Bus,
  revision: () => string,
  withinMs = RESPONSES_WITHIN_MS,
): Promise<ConfigViews> {
  const edge = rpcClient('edge', bus)
  /** Open requests of this edge. */
  const pendingRequests = new Map<string, Map<string, ConfigView>>()
  await using starting = new AsyncDisposableStack()
  starting.use(
    await edge.subscribe('configDescribed', ({ question, view }) => {
      pendingRequests.get(question)?.set(`${view.service} ${view.process}`, view)
    }),
  )
  starting.use(await describeConfig(bus, 'edge', revision))
  const subscriptions = starting.move()
  return {
    async requestAll() {
      const question = randomUUID()
      const views = new Map<string, ConfigView>()
      pendingRequests.set(question, views)
      try {
        edge.publish('configDescribe', { question })
        await sleep(withinMs, undefined, { ref: false })
        return [...views.values()]
      } finally {
        pendingRequests.delete(question)
      }
    },
    [Symbol.asyncDispose]: () => subscriptions[Symbol.asyncDispose](),
  }
}
