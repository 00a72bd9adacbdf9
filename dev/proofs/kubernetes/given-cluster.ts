/**
 * A proof on a cluster of the reader's: in two namespaces, which must not be there before, and which it removes. Clients in this
 * process reach the gateway by way of a pod that no proof touches, since a forwarded port ends with its pod.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { step, tableOfSteps } from '../engine/steps.ts'
import { type Addresses, type Cluster, type ClusterImages, imageOf } from './cluster.ts'
import { type ClusterTools, clusterTools } from './cluster-tools.ts'
import { proxyProgram } from './proxy.ts'
import { restrictedNamespace } from './release-steps.ts'
import { CLIENTS_NAMESPACE, DATABASE_PORT, GATEWAY_URL, ISSUER_PORT, NAMESPACE, openStage } from './stage.ts'
import { tour } from './tour.ts'

const PROXY = 'proxy'
const PROXY_PORT = 8080
export interface GivenCluster {
  context: string
  images: ClusterImages
  only: string
}

/** Returns the exit code. */
export async function proveOnGivenCluster({ context, images, only }: GivenCluster): Promise<number> {
  try {
    const tools = clusterTools({ context })
    await using cleanup = new AsyncDisposableStack()
    const folder = await mkdtemp(join(tmpdir(), 'gateway-proof-'))
    cleanup.defer(() => rm(folder, { recursive: true }))
    await step('namespaces', async () => cleanup.use(await openNamespaces(tools)))
    const ports = await freePorts(3)
    const cluster: Cluster = { tools, images, addresses: addressesOf(ports), folder }
    const stage = await step('Redis, PostgreSQL, backends, identity provider', () => openStage(cluster))
    await step('ports for the clients', async () => void cleanup.use(await openPorts(cluster, ports)))
    await tour({ cluster, stage, only })
    return 0
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    console.log(tableOfSteps())
  }
}

function addressesOf(ports: readonly number[]): Addresses {
  const [gateway, issuer, database] = ports.map((port) => `127.0.0.1:${port}`) as [string, string, string]
  return { gateway: `http://${gateway}`, issuer: `http://${issuer}`, database }
}

/** Throws where one of them is there: it would be somebody's. */
async function openNamespaces(tools: ClusterTools): Promise<AsyncDisposable> {
  const names = [NAMESPACE, CLIENTS_NAMESPACE]
  const present = (await tools.kubectl('get', 'namespace', ...names, '--ignore-not-found', '--output=name')).trim()
  if (present !== '') throw new Error(`the cluster has ${present.split('\n').join(' and ')}: delete it first`)
  await tools.apply(names.map(restrictedNamespace))
  return {
    async [Symbol.asyncDispose]() {
      await tools.kubectl('delete', 'namespace', ...names, '--timeout=300s')
    },
  }
}

async function openPorts({ tools, images }: Cluster, ports: readonly number[]): Promise<AsyncDisposable> {
  const [gateway, issuer, database] = ports as [number, number, number]
  await tools.apply([proxy(images)])
  const inClients = ['--namespace', CLIENTS_NAMESPACE]
  await tools.kubectl('wait', '--for=condition=Ready', `pod/${PROXY}`, ...inClients, '--timeout=180s')
  await using opening = new AsyncDisposableStack()
  opening.use(await tools.forward(`pod/${PROXY}`, { local: gateway, remote: PROXY_PORT }, ...inClients))
  for (const [name, local, remote] of [
    ['issuer', issuer, ISSUER_PORT],
    ['postgres', database, DATABASE_PORT],
  ] as const) {
    opening.use(await tools.forward(`deployment/${name}`, { local, remote }, '--namespace', NAMESPACE))
  }
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** The chart lets pods of this namespace call the edge. */
function proxy(images: ClusterImages): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: PROXY, namespace: CLIENTS_NAMESPACE },
    spec: {
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: PROXY,
          image: imageOf(images, 'development'),
          imagePullPolicy: images.pullPolicy,
          args: ['--eval', proxyProgram({ host: new URL(GATEWAY_URL).hostname, port: 80 }, PROXY_PORT)],
          readinessProbe: { tcpSocket: { port: PROXY_PORT }, periodSeconds: 1 },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
}
