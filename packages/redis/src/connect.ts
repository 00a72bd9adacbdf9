/**
 * Connects to what an address names: a server, the primary that Sentinels name, or several nodes of a Redis Cluster,
 * separated by commas.
 */

import { connectCluster } from './cluster.ts'
import { connect, type ConnectionOptions, type ScriptConnection } from './connection.ts'
import { isSentinelAddress } from './sentinel-address.ts'

export function connectTo(options: ConnectionOptions): Promise<ScriptConnection> {
  if (isSentinelAddress(options.url)) return connect(options)
  const urls = options.url.split(',')
  return urls.length > 1 ? connectCluster(urls, options) : connect(options)
}
