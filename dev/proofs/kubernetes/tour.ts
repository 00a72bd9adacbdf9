/**
 * The gateway in the cluster: installed, used, restarted, upgraded, injected with faults and uninstalled, while clients send
 * requests.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { proveLedger } from '../engine/ledger.ts'
import { expectNoFailure } from '../engine/outcomes.ts'
import { step } from '../engine/steps.ts'
import { scaleByProcessor } from './autoscaling.ts'
import { type Clients, openClients } from './clients.ts'
import type { Cluster, Machine } from './cluster.ts'
import type { ClusterTools } from './cluster-tools.ts'
import { exhaustMemory } from './memory-limit.ts'
import { findFollower, findLeader } from './nats-leader.ts'
import { provePolicies } from './policies.ts'
import { type Component, openRelease, type Pod, type Release, SERVICES } from './release.ts'
import { namesIn } from './release-steps.ts'
import { scaleByStreams } from './scaling-by-streams.ts'
import { gatewayConfig, NAMESPACE, type Stage } from './stage.ts'

const CONFIG_WITHIN_MS = 180_000
const FOLLOW_CONFIG = ['edge', 'router', 'keys'] as const
const BY_FORCE = ['--grace-period=0', '--force']
/** An edge takes the requests of its own clients with it. */
const EDGE_GONE = ['unreachable', 'broken']
/** Felix drops the last packets of a pod that Kubernetes has forgotten, so its clients may hear of no end. */
const HUNG = 'hung'
/** Until the nodes send no connection to it. */
const FORGOTTEN_WITHIN_MS = 5_000
/** The problems that clients may meet when a pod is gone without a word. */
const FORCED: {
  title: string
  find(release: Release, tools: ClusterTools): Promise<Pod>
  problems: readonly string[]
}[] = [
  { title: 'a pod of edge', find: firstOf('edge'), problems: [...EDGE_GONE, HUNG] },
  // A stream that had begun.
  { title: 'a pod of router', find: firstOf('router'), problems: ['broken'] },
  { title: 'a pod of keys', find: firstOf('keys'), problems: [] },
  { title: 'a pod of metering', find: firstOf('metering'), problems: [] },
  // A router that hears of no end of its connection is silent for longer than edges wait.
  {
    title: 'the NATS server that leads the usage stream',
    find: (release, tools) => findLeader(tools, release),
    problems: ['broken'],
  },
  { title: 'another NATS server', find: (release, tools) => findFollower(tools, release), problems: ['broken'] },
]

export interface Scene {
  cluster: Cluster
  stage: Stage
  /** A regular expression of titles. */
  only: string
}

interface Proof {
  title: string
  /** Returns its finding. */
  prove(): Promise<string>
}

type UnderLoad = (title: string, disruption: () => Promise<unknown>, problems?: readonly string[]) => Proof

export async function tour(scene: Scene): Promise<void> {
  const { cluster, stage, only } = scene
  const release = await openRelease(cluster)
  await step('install: every pod is ready', release.install)
  const clients = await step('sign in, key, chat, stream, quota through the Service', () =>
    openClients(cluster.addresses, stage.databaseUrl),
  )
  const failures: unknown[] = []
  for (const { title, prove } of proofs(scene, release, clients)) {
    if (!new RegExp(only).test(title)) continue
    // The next is proved also when this one failed.
    await step(title, prove).catch((error: unknown) => void failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} steps failed`)
}

/** In their order: some need the result of a former one. */
function proofs({ cluster, stage }: Scene, release: Release, clients: Clients): Proof[] {
  const { tools, images, machine } = cluster
  const underLoad: UnderLoad = (title, disruption, problems = []) => ({
    title,
    prove: () => proveUnderLoad(clients, disruption, problems),
  })
  const otherTag = images.otherTag
  return [
    ...[...SERVICES, 'nats' as const].map((component) =>
      underLoad(`rolling restart of ${component}`, () => release.restart(component)),
    ),
    underLoad('three edge pods deleted, one after the other', async () => {
      for (let count = 0; count < 3; count++) await release.deletePod(await firstOf('edge')(release))
    }),
    ...(otherTag
      ? [
          underLoad('helm upgrade to another version', () => release.upgrade('--set', `image.tag=${otherTag}`)),
          underLoad('helm rollback', release.rollback),
        ]
      : []),
    ...FORCED.map(({ title, find, problems }) =>
      underLoad(
        `${title} deleted by force`,
        async () => release.deletePod(await find(release, tools), ...BY_FORCE),
        problems,
      ),
    ),
    ...(machine ? nodeProofs(cluster, machine, release, underLoad) : []),
    { title: 'a change of the ConfigMap: every pod has it', prove: () => changeConfig(tools, release) },
    ...(machine ? scalingProofs(cluster, machine, release, clients) : []),
    {
      title: 'the ledger after all of this',
      prove: async () =>
        `${await proveLedger(stage.databaseUrl, clients.outcomes)} responses, each once, with its tokens`,
    },
    { title: 'uninstall leaves the volume claims of NATS alone', prove: () => expectGone(tools, release) },
  ]
}

function nodeProofs(cluster: Cluster, machine: Machine, release: Release, underLoad: UnderLoad): Proof[] {
  return [
    underLoad('an edge at its memory limit, killed by the kernel', () => exhaustMemory(release, 'edge'), EDGE_GONE),
    { title: 'a second node', prove: () => machine.addNode() },
    underLoad('rolling restart onto both nodes', async () => {
      for (const component of SERVICES) await release.restart(component)
    }),
    {
      title: 'policies: every promised connection opens, and no other',
      prove: () => provePolicies(cluster, release),
    },
    underLoad('kubectl drain of the second node', () => drain(cluster.tools, release, machine.secondNode)),
  ]
}

function scalingProofs({ tools }: Cluster, { measurers }: Machine, release: Release, clients: Clients): Proof[] {
  return [
    {
      title: 'autoscaling by CPU: more edges under load, and fewer after it',
      prove: () => scaleByProcessor(measurers, tools, release, clients),
    },
    {
      title: 'autoscaling by streams: more edges while they are open, and none is cut when one goes',
      prove: () => scaleByStreams(measurers, tools, release, clients),
    },
  ]
}

async function proveUnderLoad(
  clients: Clients,
  disruption: () => Promise<unknown>,
  problems: readonly string[],
): Promise<string> {
  let injectedAtMs = Date.now()
  const outcomes = await clients.during(() => {
    injectedAtMs = Date.now()
    return disruption()
  })
  return expectNoFailure(outcomes, ({ problem, startedAtMs }) => {
    const isLate = problem === HUNG && startedAtMs > injectedAtMs + FORGOTTEN_WITHIN_MS
    return problems.includes(problem!) && !isLate
  })
}

function firstOf(component: Component): (release: Release) => Promise<Pod> {
  return async ({ pods }) => (await pods(component))[0]!
}

async function drain(tools: ClusterTools, release: Release, node: string): Promise<void> {
  const on = async () => {
    const pods = await Promise.all(SERVICES.map(release.pods))
    return pods.flat().filter(({ spec }) => spec.nodeName === node).length
  }
  if ((await on()) === 0) throw new Error('no pod came to the second node')
  await tools.kubectl('drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=300s')
  await release.rolledOut()
  if ((await on()) > 0) throw new Error('a pod is still on the drained node')
}

/** Every pod that reads it says so in its log. */
async function changeConfig(tools: ClusterTools, release: Release): Promise<string> {
  const beganMs = performance.now()
  await release.upgrade('--set-json', `config=${JSON.stringify(gatewayConfig('added'))}`)
  const pods = (await Promise.all(FOLLOW_CONFIG.map(release.readyPods))).flat()
  const waiting = new Set(pods.map(({ metadata }) => metadata.name))
  const seconds = () => Math.round((performance.now() - beganMs) / 1000)
  let first: number | undefined
  while (waiting.size > 0) {
    if (performance.now() - beganMs > CONFIG_WITHIN_MS) throw new Error(`${[...waiting].join(', ')} never had it`)
    for (const name of waiting) {
      const log = await tools.kubectl('logs', name, '--namespace', NAMESPACE)
      if (!log.includes('configuration changed')) continue
      waiting.delete(name)
      first ??= seconds()
    }
    await delay(250)
  }
  return `${pods.length} pods, the first after ${first} s, the last after ${seconds()} s`
}

async function expectGone(tools: ClusterTools, release: Release): Promise<string> {
  const ofRelease = async () =>
    (await namesIn(tools, NAMESPACE)).filter((name) => name.includes('gateway-model-gateway'))
  const before = await ofRelease()
  await release.uninstall()
  const left = (await ofRelease()).filter((name) => !name.startsWith('persistentvolumeclaim/'))
  if (left.length > 0) throw new Error(`these are left: ${left.join(', ')}`)
  return `${before.length} objects before`
}
