/**
 * Beside the API server, for a cluster with nodes: the controllers and the scheduler.
 */

import { request } from 'node:https'
import { join } from 'node:path'
import type { ControlPlane, ClusterFolders } from './control-plane.ts'
import { startDaemon } from './daemon.ts'

/** Autoscalers look as often as their measurements change. */
const CONTROLLERS = ['--use-service-account-credentials', '--horizontal-pod-autoscaler-sync-period=5s']

export async function startControllers(
  { programs, logs }: ClusterFolders,
  controlPlane: ControlPlane,
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
