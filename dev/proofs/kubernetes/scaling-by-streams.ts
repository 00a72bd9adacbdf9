/**
 * Pods by the number of open streams, as `deploy/companions/keda.yaml` says: an autoscaler queries KEDA, and KEDA queries
 * Prometheus. Streams are open on the edge that has to go, and each of them comes to its end.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DEPLOY } from '../../../scripts/deploy/chart.ts'
import { readManifests } from '../../../scripts/deploy/validate-manifests.ts'
import { expectNoFailure } from '../engine/outcomes.ts'
import { LEAST, untilEdges } from './autoscaling.ts'
import type { Clients } from './clients.ts'
import type { Measurers } from './cluster.ts'
import type { ClusterTools } from './cluster-tools.ts'
import { isLeaving, isServing, type Release } from './release.ts'
import { seeAdapterSeries, streamsOn } from './own-cluster/prometheus.ts'
import { GATEWAY_URL, NAMESPACE, paceBackends, SHORT_GATEWAY_URL } from './stage.ts'

/** The companion has an edge for 300 streams: these are more than two edges' and, with the others, less than three's. */
const CROWD = { clients: 750, streamsOfWords: 25, spreadMs: 30_000 }
/** They come, by connections of their own, when there are three edges; some come after kube-proxy knows the third. */
const OTHERS = { clients: 60, streamsOfWords: 25, spreadMs: 25_000 }
/** A stream lasts 40 s. */
const TOKENS_PER_SECOND = 0.7
/** Pods use less than 70 % of this, which is the companion's limit: streams alone call for more pods. */
const EXTERNAL = Object.entries({ edge: '300m', router: '200m' }).flatMap(([service, cpu]) => [
  `${service}.autoscaling.enabled=true`,
  `${service}.autoscaling.external=true`,
  `${service}.resources.requests.cpu=${cpu}`,
])
/** The companion's own is ten minutes. */
const STABLE_SECONDS = 15
const AUTOSCALER = 'keda-hpa-gateway-edge'
const IN_NAMESPACE = ['--namespace', NAMESPACE]

/** Returns the numbers of edges, the streams on the edge that went, and the clients' outcomes. */
export async function scaleByStreams(
  { openMetricsServer, openPrometheus, openKeda }: Measurers,
  tools: ClusterTools,
  release: Release,
  clients: Clients,
): Promise<string> {
  await using _prometheus = await openPrometheus()
  await using _metricsServer = await openMetricsServer()
  await using _keda = await openKeda()
  await using _pace = await paceBackends(tools, TOKENS_PER_SECOND)
  await using _scaled = await scaleFromOutside(tools, release)
  await untilEdges(release, (edges) => edges.filter(isServing).length === LEAST)

  await using crowd = clients.openStreams(GATEWAY_URL, CROWD)
  await untilEdges(release, (edges) => edges.filter(isServing).length > LEAST)
  const series = await seeAdapterSeries()
  await using others = clients.openStreams(SHORT_GATEWAY_URL, OTHERS)
  await delay(OTHERS.spreadMs)
  const [crowdOutcomes, open] = await Promise.all([crowd.end(), streamsOfLeaving(release)])
  await untilEdges(release, (edges) => edges.length === LEAST)

  const seen = expectNoFailure([...crowdOutcomes, ...(await others.end())])
  const sizes = await sizesByStreams(tools)
  return `${LEAST}, ${sizes.join(', ')}, ${LEAST} edges; ${open} streams open on those that went; ${seen}; ${series}`
}

/** Until it is disposed, KEDA's autoscalers say how many edges and routers there are. */
async function scaleFromOutside(tools: ClusterTools, release: Release): Promise<AsyncDisposable> {
  const companion = readFileSync(join(DEPLOY, 'companions/keda.yaml'), 'utf8')
  const objects = readManifests(
    companion.replaceAll('namespace="ai"', `namespace="${NAMESPACE}"`),
  ) as unknown as ScaledObject[]
  for (const { spec } of objects) {
    spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.stabilizationWindowSeconds = STABLE_SECONDS
  }
  await release.upgrade('--set', EXTERNAL.join(','))
  await tools.apply(objects, ...IN_NAMESPACE)
  return {
    // KEDA has to run until each is gone.
    async [Symbol.asyncDispose]() {
      await tools.kubectl('delete', 'scaledobjects', '--all', ...IN_NAMESPACE, '--timeout=60s')
    },
  }
}

interface ScaledObject {
  spec: {
    advanced: {
      horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: number } } }
    }
  }
}

async function streamsOfLeaving(release: Release): Promise<number> {
  const edges = await untilEdges(release, (pods) => pods.some(isLeaving))
  const names = edges.filter(isLeaving).map(({ metadata }) => metadata.name)
  const open = await streamsOn(names)
  if (open === 0) throw new Error(`no stream was open on ${names.join(' and ')}, which had to go`)
  return open
}

/** The sizes that the autoscaler reported; throws when anything but streams called for more edges. */
async function sizesByStreams(tools: ClusterTools): Promise<string[]> {
  const which = `involvedObject.name=${AUTOSCALER},reason=SuccessfulRescale`
  const { items } = await tools.read<{ items: { message: string }[] }>(
    'events',
    ...IN_NAMESPACE,
    `--field-selector=${which}`,
  )
  const reasons = items.map(({ message }) => message).filter((message) => message.endsWith('above target'))
  const sizes = reasons.map((reason) => /^New size: (\d+); reason: external metric/.exec(reason)?.[1])
  if (sizes.length === 0 || sizes.includes(undefined)) {
    throw new Error(`streams alone should call for edges: ${reasons.join('; ')}`)
  }
  return sizes as string[]
}
