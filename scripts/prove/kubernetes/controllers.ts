/**
 * Beside the API server, for a cluster with nodes: the controllers, the scheduler and the names of services.
 */

import { writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import type { ClusterTools } from './cluster-tools.ts'
import { type ControlPlane, DNS_ADDRESS, type Places } from './control-plane.ts'
import { startDaemon } from './daemon.ts'
import { hostService } from './host-service.ts'

const NAMES_READY_PORT = 8181
/** Autoscalers look as often as their measurements change. */
const CONTROLLERS = ['--use-service-account-credentials', '--horizontal-pod-autoscaler-sync-period=5s']

export async function startControllers(
  { programs, logs, state }: Places,
  coredns: string,
  controlPlane: ControlPlane,
  tools: ClusterTools,
): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  const start = async (name: string, args: string[], healthPort: number) => {
    const isReady = () => isHealthy(healthPort)
    opening.use(await startDaemon({ name, file: join(programs, name), args, logs, isReady }))
  }
  const { accountKey, authority } = controlPlane.files
  const asController = ['--kubeconfig', await controlPlane.kubeconfigOf('kube-controller-manager')]
  const keys = [`--service-account-private-key-file=${accountKey}`, `--root-ca-file=${authority}`]
  const own = ['--leader-elect=false', '--bind-address=127.0.0.1']
  await Promise.all([
    start('kube-controller-manager', [...asController, ...keys, ...own, ...CONTROLLERS], 10_257),
    start('kube-scheduler', ['--kubeconfig', await controlPlane.kubeconfigOf('kube-scheduler'), ...own], 10_259),
  ])
  opening.use(
    await startDaemon({
      name: 'coredns',
      file: coredns,
      args: ['-conf', await namesConfig(state, controlPlane)],
      logs,
      isReady: async () => (await fetch(`http://127.0.0.1:${NAMES_READY_PORT}/ready`)).ok,
    }),
  )
  await tools.apply(namesService())
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const sent = request(`https://127.0.0.1:${port}/healthz`, { rejectUnauthorized: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    sent.on('error', () => resolve(false)).end()
  })
}

async function namesConfig(state: string, controlPlane: ControlPlane): Promise<string> {
  const path = join(state, 'Corefile')
  await writeFile(
    path,
    `.:53 {
  errors
  ready 127.0.0.1:${NAMES_READY_PORT}
  cache 5
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${controlPlane.kubeconfig}
  }
}
`,
  )
  return path
}

/** CoreDNS runs on the host, behind the address at which pods ask. */
function namesService(): object[] {
  return hostService({
    namespace: 'kube-system',
    name: 'kube-dns',
    clusterIP: DNS_ADDRESS,
    ports: [
      { name: 'udp', port: 53, protocol: 'UDP' },
      { name: 'tcp', port: 53, protocol: 'TCP' },
    ],
  })
}
