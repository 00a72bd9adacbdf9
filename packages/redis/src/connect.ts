/**
 * Connects to the Redis of an address: a server, the primary that Sentinels name, or a Redis Cluster. A cluster has
 * its configuration endpoint, or several of its nodes, separated by commas.
 */

import { connectCluster } from './cluster.ts'
import { connect, type ConnectionOptions, type ScriptConnection } from './connection.ts'
import { isSentinelAddress } from './sentinel-address.ts'

const CLUSTER = /^(rediss?)-cluster:/

export function connectTo(options: ConnectionOptions): Promise<ScriptConnection> {
  if (isSentinelAddress(options.url)) return connect(options)
  const urls = options.url.split(',')
  if (urls.length === 1 && !CLUSTER.test(options.url)) return connect(options)
  return connectCluster(
    urls.map((url) => url.replace(CLUSTER, '$1:')),
    options,
  )
}
