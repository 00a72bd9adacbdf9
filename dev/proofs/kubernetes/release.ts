/**
 * The chart's release in the cluster, and an operator's acts on it. Each act ends when every pod is as it should be.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CHART } from '../../../scripts/deploy/chart.ts'
import type { Cluster } from './cluster.ts'
import { chartValues, NAMESPACE } from './stage.ts'

export const SERVICES = ['edge', 'router', 'keys', 'metering'] as const
export type Component = (typeof SERVICES)[number] | 'nats'

export interface Release {
  install(): Promise<void>
  /** With these values over those of the installation. */
  upgrade(...settings: string[]): Promise<void>
  rollback(): Promise<void>
  uninstall(): Promise<void>
  restart(component: Component): Promise<void>
  deletePod(pod: Pod, ...how: string[]): Promise<void>
  rolledOut(): Promise<void>
  pods(component: Component): Promise<Pod[]>
  /** Those that serve and that Kubernetes does not stop. */
  readyPods(component: Component): Promise<Pod[]>
}

export interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string }
  spec: { nodeName: string }
  status: {
    podIP: string
    conditions: { type: string; status: string }[]
    containerStatuses: { containerID: string; lastState: { terminated?: { reason: string } } }[]
  }
}

const RELEASE = 'gateway'
const NAME = 'gateway-model-gateway'
const WAIT = ['--wait', '--timeout', '300s']

export async function openRelease(cluster: Cluster): Promise<Release> {
  const { tools, folder } = cluster
  const values = join(folder, 'values.json')
  await writeFile(values, JSON.stringify(chartValues(cluster)))
  const kubectl = (...args: string[]) => tools.kubectl(...args, '--namespace', NAMESPACE)
  const helm = async (...args: string[]) => {
    const { warnings } = await tools.helm(...args, '--namespace', NAMESPACE)
    if (warnings.length > 0) throw new Error(warnings.join('\n'))
  }
  const pods = async (component: Component) => {
    const selector = `--selector=app.kubernetes.io/component=${component}`
    const { items } = await tools.read<{ items: Pod[] }>('pods', '--namespace', NAMESPACE, selector)
    return items
  }
  const rolledOut = async () => {
    const workloads = [...SERVICES, 'nats' as const].map(workloadOf)
    await Promise.all(workloads.map((workload) => kubectl('rollout', 'status', workload, '--timeout=300s')))
  }
  return {
    pods,
    readyPods: async (component) => (await pods(component)).filter(isServing),
    rolledOut,
    install: () => helm('install', RELEASE, CHART, '--values', values, ...WAIT),
    upgrade: (...settings) => helm('upgrade', RELEASE, CHART, '--values', values, ...settings, ...WAIT),
    rollback: () => helm('rollback', RELEASE, ...WAIT),
    async uninstall() {
      await helm('uninstall', RELEASE, ...WAIT)
      await kubectl('wait', '--for=delete', 'pod', `--selector=app.kubernetes.io/instance=${RELEASE}`, '--timeout=120s')
    },
    async restart(component) {
      await kubectl('rollout', 'restart', workloadOf(component))
      await rolledOut()
    },
    async deletePod({ metadata }, ...how) {
      await kubectl('delete', 'pod', metadata.name, ...how)
      await rolledOut()
    },
  }
}

export function isServing(pod: Pod): boolean {
  if (isLeaving(pod)) return false
  return pod.status.conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True')
}

export function isLeaving({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

function workloadOf(component: Component): string {
  return `${component === 'nats' ? 'statefulset' : 'deployment'}/${NAME}-${component}`
}
