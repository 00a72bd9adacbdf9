/**
 * The chart's NetworkPolicies, enforced: each pod tries each port of each other pod, and the API server. A refused connection
 * must open once the policies are gone, and be refused again once they are back.
 */

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import type { ClusterTools } from './cluster-tools.ts'
import { API_PORT, HOST_ADDRESS } from './own-cluster/control-plane.ts'
import { execute } from './own-cluster/host.ts'
import { openOutsiders } from './policies-outsiders.ts'
import type { Address, Reachability } from './policies-probe.ts'
import type { Release } from './release.ts'
import { CLIENTS_NAMESPACE, guardStores, NAMESPACE } from './stage.ts'

const PROBE = join(import.meta.dirname, 'policies-probe.ts')
/** Felix follows changes of policies and pods. */
const ENFORCED_WITHIN_MS = 60_000

const NAMES = ['kube-system:udp', 'kube-system:tcp']
/** The chart's pods, each with its permitted targets. */
const MAY_SPEAK_TO: Record<string, readonly string[]> = {
  edge: ['nats:client', 'redis:redis', 'issuer:8082', ...NAMES],
  router: ['nats:client', 'backend-a:9100', 'backend-b:9100', ...NAMES],
  keys: ['nats:client', 'redis:redis', 'postgres:5432', ...NAMES],
  metering: ['nats:client', 'redis:redis', 'postgres:5432', ...NAMES],
  ctl: ['nats:client', ...NAMES],
  nats: ['nats:cluster', ...NAMES],
}
/** The permitted callers from outside. */
const PERMITTED_CALLERS: [by: string, to: RegExp][] = [
  [CLIENTS_NAMESPACE, /^edge:http$/],
  ['monitoring', /^(edge|router|keys|metering):health$/],
]
/** The policies of the chart and of `deploy/companions/` name the permitted callers of these. */
const GUARDED = [...Object.keys(MAY_SPEAK_TO), 'redis', 'postgres']

interface Pod {
  metadata: { name: string; namespace: string; labels?: Record<string, string>; deletionTimestamp?: string }
  spec: {
    nodeName: string
    containers: { ports?: { name?: string; containerPort: number; protocol: 'TCP' | 'UDP' }[] }[]
  }
  status: { podIP: string; phase: string; containerStatuses: { containerID: string }[] }
}

interface Target extends Address {
  name: string
}

interface Connection {
  from: string
  to: string
  reachability: Reachability
}

/** Returns the numbers of open and of refused connections. The cluster's folder holds those of its nodes. */
export async function provePolicies(cluster: Cluster, release: Release): Promise<string> {
  const { tools, folder } = cluster
  await using _outsiders = await openOutsiders(cluster)
  const probe = () => probeAll(tools, folder)
  const enforced = await until(probe, isAsPromised)
  await release.upgrade('--set', 'networkPolicy.enabled=false')
  await tools.kubectl('delete', 'networkpolicies.networking.k8s.io', '--all', '--namespace', NAMESPACE)
  await until(probe, ({ reachability }) => reachability === 'open')
  await release.rollback()
  await guardStores(tools)
  await until(probe, isAsPromised)
  const refused = enforced.filter(({ reachability }) => reachability === 'silent').length
  return `${enforced.length - refused} connections as promised, ${refused} refused, each open without the policies`
}

function isAsPromised({ from, to, reachability }: Connection): boolean {
  const own = MAY_SPEAK_TO[from]
  const isOpen = own ? own.includes(to) : PERMITTED_CALLERS.some(([by, what]) => by === from && what.test(to))
  return reachability === (isOpen ? 'open' : 'silent')
}

function isGuarded({ from, to }: { from: string; to: string }): boolean {
  return from in MAY_SPEAK_TO || GUARDED.includes(to.slice(0, to.indexOf(':')))
}

/** Resolves when every connection is as it should be. */
async function until(
  probe: () => Promise<Connection[]>,
  isRight: (connection: Connection) => boolean,
): Promise<Connection[]> {
  const deadlineMs = Date.now() + ENFORCED_WITHIN_MS
  for (;;) {
    const connections = await probe()
    const wrong = connections.filter((connection) => !isRight(connection))
    if (wrong.length === 0) return connections
    if (Date.now() > deadlineMs) {
      const lines = new Set(wrong.map(({ from, to, reachability }) => `${from} to ${to}: ${reachability}`))
      throw new Error(
        `${wrong.length} of ${connections.length} connections are not as promised:\n${[...lines].join('\n')}`,
      )
    }
    await delay(500)
  }
}

async function probeAll(tools: ClusterTools, state: string): Promise<Connection[]> {
  const { items } = await tools.read<{ items: Pod[] }>('pods', '--all-namespaces')
  const pods = items.filter(({ metadata, status }) => !metadata.deletionTimestamp && status.phase === 'Running')
  const api: Target = { name: 'host:api', address: HOST_ADDRESS, port: API_PORT, protocol: 'TCP' }
  const targets = [...pods.flatMap(targetsOf), api]
  const processes = await processesOf(pods, state)
  const found = await Promise.all(
    pods.map((pod) => {
      const from = nameOf(pod)
      const others = targets.filter(
        ({ name, address }) => address !== pod.status.podIP && isGuarded({ from, to: name }),
      )
      return probeFrom(processes.get(pod)!, from, others)
    }),
  )
  return found.flat()
}

function targetsOf(pod: Pod): Target[] {
  const ports = pod.spec.containers.flatMap((container) => container.ports ?? [])
  return ports.map(({ name, containerPort, protocol }) => ({
    name: `${nameOf(pod)}:${name ?? containerPort}`,
    address: pod.status.podIP,
    port: containerPort,
    protocol,
  }))
}

/** By its part in the gateway, or by its namespace. */
function nameOf({ metadata: { namespace, labels = {} } }: Pod): string {
  if (namespace !== NAMESPACE) return namespace
  return labels['app.kubernetes.io/component'] ?? labels['app']!
}

async function probeFrom(id: string, from: string, targets: readonly Target[]): Promise<Connection[]> {
  const addresses = targets.map(({ address, port, protocol }) => ({ address, port, protocol }))
  const probe = [process.execPath, PROBE, JSON.stringify(addresses)]
  const { stdout } = await execute('nsenter', [`--net=/proc/${id}/ns/net`, ...probe])
  const reached = JSON.parse(stdout) as Reachability[]
  return targets.map(({ name }, index) => ({ from, to: name, reachability: reached[index]! }))
}

/** One of each pod, as this world numbers them. */
async function processesOf(pods: readonly Pod[], state: string): Promise<Map<Pod, string>> {
  const ids = new Map<string, string>()
  for (const node of new Set(pods.map(({ spec }) => spec.nodeName))) {
    const socket = join(state, node, 'containerd.sock')
    const { stdout } = await execute('ctr', ['--address', socket, '--namespace', 'k8s.io', 'tasks', 'ls'])
    for (const line of stdout.split('\n')) {
      const [id, number] = line.split(/\s+/)
      if (number) ids.set(id!, number)
    }
  }
  return new Map(
    pods.map((pod) => [pod, ids.get(pod.status.containerStatuses[0]!.containerID.replace('containerd://', ''))!]),
  )
}
