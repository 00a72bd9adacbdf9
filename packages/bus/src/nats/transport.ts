/**
 * The client's transport, which leaves no socket behind. The library's own forgets a socket whose server accepts and says
 * nothing, or whose packets get no answer: each dial leaks one, and a process that wants to end waits for all of them.
 */

import { createConnection, type Socket } from 'node:net'
import { NatsConnectionImpl, setTransportFactory, type NatsConnection } from '@nats-io/nats-core/internal'
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { nodeResolveHost, NodeTransport } from '@nats-io/transport-node/lib/node_transport.js'

export function connect(options: NodeConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost })
  return NatsConnectionImpl.connect(options)
}

class Transport extends NodeTransport {
  #dialed: Socket | undefined

  override dial({ hostname, port }: { hostname: string; port: number }): Promise<Socket> {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    const socket = createConnection({ host: hostname, port, noDelay: true })
    this.#dialed = socket
    let failure: Error | undefined
    socket.on('error', (error) => (failure = error))
    socket.on('close', () => reject(failure ?? new Error('the connection was given up')))
    socket.on('connect', () => {
      // The library sets its own.
      socket.removeAllListeners()
      resolve(socket)
    })
    return promise
  }

  override async close(error?: Error): Promise<void> {
    if (!this.connected) this.#dialed?.destroy()
    await super.close(error)
  }
}
