/**
 * Connects to what an address names: a server, or several nodes of a Redis Cluster, separated by commas.
 */

import { connectCluster } from './cluster.ts'
import { connect, type ConnectionOptions, type ScriptConnection } from './connection.ts'

export function connectTo(options: ConnectionOptions): Promise<ScriptConnection> {
  const urls = options.url.split(',')
  return urls.length > 1 ? connectCluster(urls, options) : connect(options)
}
