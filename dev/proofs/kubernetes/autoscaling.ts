/**
 * The chart's autoscalers: more edges while clients keep them busy, and as few as before when nobody sends a request.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { expectNoFailure } from '../engine/outcomes.ts'
import type { Clients } from './clients.ts'
import type { Measurers } from './cluster.ts'
import type { ClusterTools } from './cluster-tools.ts'
import { isServing, type Pod, type Release } from './release.ts'
import { NAMESPACE } from './stage.ts'

export const LEAST = 2
const MOST = 4
const WITHIN_MS = 300_000
const POLL_MS = 1_000
/** The share of a processor is a fraction of the clients' need of one edge, and several times the need of an idle one. */
const BY_CPU = 'autoscaling.enabled=true,autoscaling.cpuPercent=30,resources.requests.cpu=100m'
/** The chart's own keeps pods for ten minutes, since streams last. */
const DOWN_AT_ONCE = {
  spec: {
    behavior: {
      scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Percent', value: 100, periodSeconds: 5 }] },
    },
  },
}

/** Returns the outcomes that the clients saw while edges were added. */
export async function scaleByProcessor(
  { openMetricsServer }: Measurers,
  tools: ClusterTools,
  release: Release,
  clients: Clients,
): Promise<string> {
  await using _metrics = await openMetricsServer()
  const settings = `${BY_CPU},autoscaling.maxReplicas=${MOST}`.split(',').map((setting) => `edge.${setting}`)
  await release.upgrade('--set', settings.join(','))
  const outcomes = await clients.during(() => untilEdges(release, (edges) => edges.filter(isServing).length > LEAST))
  const edit = JSON.stringify(DOWN_AT_ONCE)
  await tools.kubectl(
    'patch',
    'hpa',
    'gateway-model-gateway-edge',
    '--namespace',
    NAMESPACE,
    '--type=merge',
    '--patch',
    edit,
  )
  await untilEdges(release, (edges) => edges.filter(isServing).length === LEAST)
  return expectNoFailure(outcomes)
}

/** Those that are leaving too. */
export async function untilEdges(release: Release, isSo: (edges: Pod[]) => boolean): Promise<Pod[]> {
  const deadlineMs = Date.now() + WITHIN_MS
  for (;;) {
    const edges = await release.pods('edge')
    if (isSo(edges)) return edges
    if (Date.now() > deadlineMs) {
      throw new Error(`${edges.length} edges, ${edges.filter(isServing).length} serve, after ${WITHIN_MS / 1000} s`)
    }
    await delay(POLL_MS)
  }
}
