/**
 * Runs in the network namespace of a pod: connects to each address of its argument, and prints the replies.
 */

import { Resolver } from 'node:dns/promises'
import { connect } from 'node:net'

export interface Address {
  address: string
  port: number
  protocol: 'TCP' | 'UDP'
}

/** A policy drops packets; `closed`: there is no server. */
export type Reachability = 'open' | 'closed' | 'silent'

/** The kernel of an open port replies to the first packet, or else the second, a second later. */
const SILENT_MS = 3_000

function connectTo({ address, port }: Address): Promise<Reachability> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port })
    const end = (reachability: Reachability) => {
      socket.destroy()
      resolve(reachability)
    }
    socket.once('connect', () => end('open'))
    socket.once('error', () => end('closed'))
    // A reply that came meanwhile goes first, however late this process is.
    setTimeout(() => setImmediate(() => end('silent')), SILENT_MS).unref()
  })
}

/** Pods speak UDP to CoreDNS alone. */
async function resolveName({ address, port }: Address): Promise<Reachability> {
  const resolver = new Resolver({ timeout: SILENT_MS, tries: 1 })
  resolver.setServers([`${address}:${port}`])
  return resolver.resolve4('kubernetes.default.svc.cluster.local').then(
    () => 'open',
    () => 'silent',
  )
}

if (import.meta.main) {
  const addresses = JSON.parse(process.argv[2]!) as Address[]
  const reach = (address: Address) => (address.protocol === 'UDP' ? resolveName(address) : connectTo(address))
  console.log(JSON.stringify(await Promise.all(addresses.map(reach))))
}
