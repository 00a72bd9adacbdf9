/**
 * A whole cluster and the gateway in it, in a world of its own.
 */

import { writeFile } from 'node:fs/promises'
import { step, tableOfSteps } from '../../engine/steps.ts'
import { clusterTools } from '../cluster-tools.ts'
import { DNS_ADDRESS, startApi } from './control-plane.ts'
import { startControllers } from './controllers.ts'
import { openFirstHost, openMachine, openSecondHost, SECOND_HOST } from './host.ts'
import { loadedImages, openImages } from './images.ts'
import { startKeda } from './keda.ts'
import { startMetricsServer } from './metrics-server.ts'
import { startNames } from './names.ts'
import { startNode } from './node.ts'
import { readPlan } from './plan.ts'
import { defineCalicosKinds } from './policies-engine.ts'
import { startPrometheus } from './prometheus.ts'
import { defineOperatorsKinds, proveReleases } from '../release-steps.ts'
import type { Cluster } from '../cluster.ts'
import { NAMESPACE, namesOfServices, openStage } from '../stage.ts'
import { tour } from '../tour.ts'
import { offerVolumes } from './volumes.ts'

try {
  const { kubernetes, nodePrograms, policyEngine, metricsServer, prometheus, keda, logs, only } = readPlan()
  const state = await openMachine()
  await using images = await openImages(nodePrograms)
  const host = await openFirstHost()
  const places = { programs: kubernetes, logs, state }
  await using controlPlane = await step('etcd and API server', () => startApi(places, ['one', 'two']))
  const tools = clusterTools(controlPlane)
  await defineOperatorsKinds(tools)
  if (only === '') await proveReleases(tools)
  await using _controllers = await step('controllers, scheduler', () => startControllers(places, controlPlane))
  await defineCalicosKinds(tools, policyEngine)
  await using nodes = new AsyncDisposableStack()
  const parts = { ...places, policyEngine, controlPlane, tools, loadImages: images.load }
  await step('node ready, with all images', async () => void nodes.use(await startNode({ ...parts, host })))
  await step('CoreDNS', () => startNames(tools))
  await resolveByClusterDns()
  await offerVolumes(tools, state, host.name)
  const machine = {
    address: host.address,
    secondNode: SECOND_HOST,
    async addNode() {
      const second = await openSecondHost(host)
      nodes.use(await startNode({ ...parts, host: second }))
      return second.name
    },
    measurers: {
      openMetricsServer: () => startMetricsServer(metricsServer, places, controlPlane, tools),
      openPrometheus: () => startPrometheus(prometheus, places, tools, NAMESPACE),
      openKeda: () => startKeda(keda!, places, controlPlane, tools),
    },
  }
  const cluster: Cluster = { tools, images: loadedImages, addresses: namesOfServices, folder: state, machine }
  const stage = await step('Redis, PostgreSQL, backends, identity provider', () => openStage(cluster))
  await tour({ cluster, stage, only })
} catch (error) {
  process.exitCode = 1
  console.error(error)
} finally {
  console.log(tableOfSteps())
}

/** The file exists in this mount namespace alone. A Service's name may lack the cluster's, as in a pod. */
async function resolveByClusterDns(): Promise<void> {
  await writeFile('/etc/resolv.conf', `nameserver ${DNS_ADDRESS}\nsearch cluster.local\noptions ndots:3\n`)
}
