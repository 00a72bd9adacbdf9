/**
 * The roles of the NATS servers in the stream of usage. A command in the pod reads them from the monitoring port.
 */

import { usageStream } from '@gateway/contracts/subjects'
import type { ClusterTools } from './cluster-tools.ts'
import type { Pod, Release } from './release.ts'
import { NAMESPACE } from './stage.ts'

const STREAMS_URL = 'http://127.0.0.1:8222/jsz?accounts=true&streams=true'

export async function findLeader(tools: ClusterTools, release: Release): Promise<Pod> {
  const servers = await release.readyPods('nats')
  const leader = await nameOfLeader(tools, servers[0]!)
  return servers.find(({ metadata }) => metadata.name === leader)!
}

export async function findFollower(tools: ClusterTools, release: Release): Promise<Pod> {
  const servers = await release.readyPods('nats')
  const leader = await nameOfLeader(tools, servers[0]!)
  return servers.find(({ metadata }) => metadata.name !== leader)!
}

interface Accounts {
  account_details: { stream_detail?: { name: string; cluster: { leader: string } }[] }[]
}

/** A server has the name of its pod. */
async function nameOfLeader(tools: ClusterTools, { metadata }: Pod): Promise<string> {
  const read = ['wget', '--quiet', '--output-document=-', STREAMS_URL]
  const output = await tools.kubectl('exec', metadata.name, '--namespace', NAMESPACE, '--container=nats', '--', ...read)
  const { account_details: accounts } = JSON.parse(output) as Accounts
  const stream = accounts
    .flatMap(({ stream_detail: streams = [] }) => streams)
    .find(({ name }) => name === usageStream.name)
  if (!stream) throw new Error(`the NATS servers have no stream ${usageStream.name}`)
  return stream.cluster.leader
}
