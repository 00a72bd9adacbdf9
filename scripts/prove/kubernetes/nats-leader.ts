/**
 * The roles of the NATS servers in the stream of usage, as they tell on their monitoring port. Their own host may ask.
 */

import { usageStream } from '@gateway/contracts/subjects'
import type { Pod, Release } from './release.ts'

const MONITOR_PORT = 8222

export async function findLeader(release: Release): Promise<Pod> {
  const servers = await release.readyPods('nats')
  const leader = await nameOfLeader(servers[0]!)
  return servers.find(({ metadata }) => metadata.name === leader)!
}

export async function findFollower(release: Release): Promise<Pod> {
  const servers = await release.readyPods('nats')
  const leader = await nameOfLeader(servers[0]!)
  return servers.find(({ metadata }) => metadata.name !== leader)!
}

interface Accounts {
  account_details: { stream_detail?: { name: string; cluster: { leader: string } }[] }[]
}

/** A server has the name of its pod. */
async function nameOfLeader({ status }: Pod): Promise<string> {
  const answer = await fetch(`http://${status.podIP}:${MONITOR_PORT}/jsz?accounts=true&streams=true`)
  const { account_details: accounts } = (await answer.json()) as Accounts
  const stream = accounts
    .flatMap(({ stream_detail: streams = [] }) => streams)
    .find(({ name }) => name === usageStream.name)
  if (!stream) throw new Error(`the NATS servers have no stream ${usageStream.name}`)
  return stream.cluster.leader
}
