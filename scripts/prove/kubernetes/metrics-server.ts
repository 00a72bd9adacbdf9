/**
 * metrics-server: what pods use of processors and memory, as the autoscalers ask for it.
 */

import { join } from 'node:path'
import type { ClusterTools } from './cluster-tools.ts'
import { type ControlPlane, HOST_ADDRESS, type Places } from './control-plane.ts'
import { startDaemon } from './daemon.ts'
import { type HostService, hostService, letAnybodyRead, servedApi } from './host-service.ts'

const GROUP = 'metrics.k8s.io'
const VERSION = 'v1beta1'
const PORT = 10_443
const SERVICE: HostService = {
  namespace: 'kube-system',
  name: 'metrics-server',
  ports: [{ name: 'https', port: PORT, protocol: 'TCP' }],
}

/** Resolves when it has measured the nodes. */
export async function startMetricsServer(
  file: string,
  { state, logs }: Places,
  { kubeconfig }: ControlPlane,
  tools: ClusterTools,
): Promise<AsyncDisposable> {
  await using opening = new AsyncDisposableStack()
  await tools.apply([...hostService(SERVICE), ...letAnybodyRead(GROUP), servedApi(GROUP, VERSION, SERVICE)])
  // While nobody answers for one part of the API, the API server cannot list its parts.
  opening.defer(async () => void (await tools.kubectl('delete', 'apiservice', `${VERSION}.${GROUP}`)))
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
