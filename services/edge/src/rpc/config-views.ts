/**
 * The config revision of each edge, keys and metering process. Every process replies for itself, and reports its revision once when it
 * starts: so every edge knows it. A process of release 0.1.0 does not reply.
 */

import type { Bus } from '@gateway/bus/port'
import type { ConfigView } from '@gateway/contracts/config-api'
import { rpcClient } from '@gateway/rpc/client'
import { describeConfig } from '@gateway/rpc/describe-config'
import { openQueryAll, type QueryAll } from '@gateway/rpc/query-all'

export type ConfigViews = QueryAll<object, ConfigView>

/** `revision`: of this edge, which replies to other edges and to itself. */
export async function openConfigViews(bus: Bus, revision: () => string): Promise<ConfigViews> {
  const edge = rpcClient('edge', bus)
  await using starting = new AsyncDisposableStack()
  const { query } = starting.use(
    await openQueryAll<object, ConfigView>({
      publish: (question) => edge.publish('configDescribe', question),
      subscribe: (onReply) => edge.subscribe('configDescribed', onReply),
      nameOf: ({ service, process }) => `${service} ${process}`,
      self: `edge ${bus.processId}`,
    }),
  )
  starting.use(await describeConfig(bus, 'edge', revision))
  const subscriptions = starting.move()
  return { query, [Symbol.asyncDispose]: () => subscriptions.disposeAsync() }
}
