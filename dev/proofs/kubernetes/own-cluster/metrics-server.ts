/**
 * metrics-server: reports to the autoscalers the processor time and memory of pods.
 */

import { join } from 'node:path'
import type { ClusterTools } from '../cluster-tools.ts'
import { type ControlPlane, HOST_ADDRESS, type ClusterFolders } from './control-plane.ts'
import { startDaemon } from './daemon.ts'
import { serveApi, type ServedApi } from './host-service.ts'

const PORT = 10_443
const API: ServedApi = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  service: {
    namespace: 'kube-system',
    name: 'metrics-server',
    ports: [{ name: 'https', port: PORT, protocol: 'TCP' }],
  },
}

/** Resolves when it has measured the nodes. */
export async function startMetricsServer(
  file: string,
  { state, logs }: ClusterFolders,
  { kubeconfig }: ControlPlane,
  tools: ClusterTools,
): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  opening.use(await serveApi(tools, API))
  const asAdministrator = ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map(
    (flag) => `--${flag}=${kubeconfig}`,
  )
  const serving = [`--bind-address=${HOST_ADDRESS}`, `--secure-port=${PORT}`, `--cert-dir=${join(state, 'metrics')}`]
  const kubelets = ['--kubelet-insecure-tls', '--kubelet-preferred-address-types=InternalIP']
  opening.use(
    await startDaemon({
      name: 'metrics-server',
      file,
      args: [...asAdministrator, '--authentication-skip-lookup', ...serving, ...kubelets, '--metric-resolution=15s'],
      logs,
      isReady: async () => (await tools.kubectl('top', 'node')).includes('%'),
    }),
  )
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
