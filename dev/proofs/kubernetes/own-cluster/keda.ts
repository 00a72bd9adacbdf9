/**
 * KEDA: its operator makes an autoscaler of each ScaledObject, and its adapter serves metrics to that autoscaler. Both run on
 * the host as the cluster's administrator, and trust one certificate.
 */

import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { downloadModule, goProgram } from '../../engine/go-program.ts'
import type { ClusterTools } from '../cluster-tools.ts'
import { type ControlPlane, HOST_ADDRESS, type ClusterFolders } from './control-plane.ts'
import { startDaemon } from './daemon.ts'
import { execute } from './host.ts'
import { serveApi, type ServedApi } from './host-service.ts'

const MODULE = { module: 'github.com/kedacore/keda/v2', version: 'v2.21.0' }
const PORT = 10_444
const API: ServedApi = {
  group: 'external.metrics.k8s.io',
  version: 'v1beta1',
  service: {
    namespace: 'kube-system',
    name: 'keda-adapter',
    ports: [{ name: 'https', port: PORT, protocol: 'TCP' }],
  },
}
const OPERATOR = '127.0.0.1:9666'
const OPERATORS_HEALTH = '127.0.0.1:9667'
const ADAPTERS_OWN_METRICS_PORT = 9668

export interface KedaParts {
  operator: string
  adapter: string
  /** A folder of manifests. */
  definitions: string
}

export async function buildKeda(): Promise<KedaParts> {
  return {
    operator: await goProgram({ ...MODULE, name: 'keda-operator', entry: './cmd/operator' }),
    adapter: await goProgram({ ...MODULE, name: 'keda-adapter', entry: './cmd/adapter' }),
    definitions: join(await downloadModule(MODULE), 'config/crd/bases'),
  }
}

/** Resolves when autoscalers get metrics. */
export async function startKeda(
  { operator, adapter, definitions }: KedaParts,
  { state, logs }: ClusterFolders,
  { kubeconfig }: ControlPlane,
  tools: ClusterTools,
): Promise<AsyncDisposable> {
  const certificates = await makeCertificate(join(state, 'keda'))
  // In place of our own copies, which have no status.
  await tools.kubectl('apply', '--server-side', '--force-conflicts', '--filename', definitions)
  await tools.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
  const environment = {
    KUBECONFIG: kubeconfig,
    WATCH_NAMESPACE: '',
    KEDA_CLUSTER_OBJECT_NAMESPACE: API.service.namespace,
  }
  await using opening = new AsyncDisposableStack()
  const operatorAddresses = [`--metrics-service-bind-address=${OPERATOR}`, '--metrics-bind-address=0']
  opening.use(
    await startDaemon({
      name: 'keda-operator',
      file: operator,
      args: [...operatorAddresses, `--health-probe-bind-address=${OPERATORS_HEALTH}`, `--cert-dir=${certificates}`],
      environment,
      logs,
      isReady: async () => (await fetch(`http://${OPERATORS_HEALTH}/readyz`)).ok,
    }),
  )
  opening.use(await serveApi(tools, API))
  const asAdministrator = ['lister', 'authentication', 'authorization'].map(
    (task) => `--${task}-kubeconfig=${kubeconfig}`,
  )
  const serving = [`--bind-address=${HOST_ADDRESS}`, `--secure-port=${PORT}`, `--cert-dir=${certificates}`]
  const addresses = [`--metrics-service-address=${OPERATOR}`, `--port=${ADAPTERS_OWN_METRICS_PORT}`]
  opening.use(
    await startDaemon({
      name: 'keda-adapter',
      file: adapter,
      args: [...asAdministrator, '--authentication-skip-lookup', ...serving, ...addresses],
      environment,
      logs,
      isReady: async () =>
        (await tools.kubectl('get', '--raw', `/apis/${API.group}/${API.version}`)).includes(API.group),
    }),
  )
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Makes a certificate for both, with its own authority. */
async function makeCertificate(folder: string): Promise<string> {
  await mkdir(folder)
  const certificate = join(folder, 'tls.crt')
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const subject = ['-subj', '/CN=keda', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', join(folder, 'tls.key'), '-out', certificate]
  await execute('openssl', ['req', '-x509', ...curve, ...subject, ...files])
  await copyFile(certificate, join(folder, 'ca.crt'))
  return folder
}
