/**
 * Debian's Prometheus. It reads the pods as an operator's would by the chart's ServiceMonitor, and listens at the address that
 * `deploy/companions/keda.yaml` names.
 */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { DEPLOY } from '../../../../scripts/deploy/chart.ts'
import { readManifests } from '../../../../scripts/deploy/validate-manifests.ts'
import type { ClusterTools } from '../cluster-tools.ts'
import { HOST_ADDRESS, type ClusterFolders } from './control-plane.ts'
import { startDaemon } from './daemon.ts'
import { type HostService, hostService } from './host-service.ts'

const PORT = 9090
const URL_ON_HOST = `http://${HOST_ADDRESS}:${PORT}`
const SERVICE: HostService = {
  namespace: 'monitoring',
  name: 'prometheus',
  ports: [{ name: 'http', port: PORT, protocol: 'TCP' }],
}
const PODS_PORT = 9089

interface Monitor {
  spec: {
    selector: { matchLabels: Record<string, string> }
    endpoints: { port: string; path: string; honorLabels?: boolean }[]
  }
}

interface Slice {
  metadata: { labels: Record<string, string> }
  /** Null for a Service without pods. */
  ports: { name: string; port: number }[] | null
  endpoints: { addresses: string[]; targetRef: { name: string } }[]
}

export async function startPrometheus(
  file: string,
  { state, logs }: ClusterFolders,
  tools: ClusterTools,
  /** The gateway's namespace. */
  namespace: string,
): Promise<AsyncDisposable> {
  const folder = join(state, 'prometheus')
  const config = join(folder, 'prometheus.yml')
  await mkdir(folder, { recursive: true })
  await tools.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SERVICE.namespace } }])
  await tools.apply(hostService(SERVICE))
  const monitor = await tools.read<Monitor>(
    'servicemonitors.monitoring.coreos.com/gateway-model-gateway',
    '--namespace',
    namespace,
  )
  await writeFile(config, JSON.stringify({ scrape_configs: [scrapeConfig(monitor)] }))
  await using opening = new AsyncDisposableStack()
  opening.use(await servePods(() => findPods(tools, monitor, namespace)))
  opening.use(
    await startDaemon({
      name: 'prometheus',
      file,
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${folder}`,
        `--web.listen-address=${HOST_ADDRESS}:${PORT}`,
      ],
      logs,
      isReady: async () => (await fetch(`${URL_ON_HOST}/-/ready`)).ok,
    }),
  )
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** While clients have streams open: whether the series of `deploy/companions/prometheus-adapter.yaml` are there. */
export async function seeAdapterSeries(): Promise<string> {
  const result = await runQuery(adapterSeries())
  const pods = new Set(result.map(({ metric }) => `${metric['namespace']}/${metric['pod']}`))
  if (pods.size === 0) throw new Error('Prometheus has no series for the adapter')
  return `the adapter’s series of ${pods.size} pods`
}

/** The number of streams that are open on these edges. */
export async function streamsOn(edges: readonly string[]): Promise<number> {
  const [sum] = await runQuery(`sum(gateway_streams_in_flight{service="edge", pod=~"${edges.join('|')}"})`)
  return Number(sum?.value[1] ?? 0)
}

/** The scrape job that a Prometheus operator makes of the ServiceMonitor. */
function scrapeConfig({ spec: { endpoints } }: Monitor): object {
  return {
    job_name: 'gateway',
    scrape_interval: '2s',
    metrics_path: endpoints[0]!.path,
    honor_labels: endpoints[0]!.honorLabels ?? false,
    http_sd_configs: [{ url: `http://127.0.0.1:${PODS_PORT}`, refresh_interval: '2s' }],
  }
}

/** Debian's Prometheus finds no pods by itself, so it gets their list here. */
async function servePods(find: () => Promise<object[]>): Promise<AsyncDisposable> {
  const server = createServer((_request, response) => {
    find().then(
      (pods) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(pods)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await once(server.listen(PODS_PORT, '127.0.0.1'), 'listening')
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

async function findPods(
  tools: ClusterTools,
  { spec: { selector, endpoints } }: Monitor,
  namespace: string,
): Promise<object[]> {
  const labels = Object.entries(selector.matchLabels).map(([name, value]) => `${name}=${value}`)
  const where = ['--namespace', namespace, '--selector', labels.join(',')]
  const found = await tools.read<{ items: Slice[] }>('endpointslices', ...where)
  return found.items.flatMap(({ metadata, ports, endpoints: pods }) => {
    const port = ports?.find(({ name }) => name === endpoints[0]!.port)
    if (!port) return []
    const service = metadata.labels['kubernetes.io/service-name']
    return pods.map(({ addresses, targetRef }) => ({
      targets: [`${addresses[0]}:${port.port}`],
      labels: { namespace, pod: targetRef.name, service },
    }))
  })
}

function adapterSeries(): string {
  const [values] = readManifests(
    readFileSync(join(DEPLOY, 'companions/prometheus-adapter.yaml'), 'utf8'),
  ) as unknown as {
    rules: { custom: { seriesQuery: string }[] }
  }[]
  return values!.rules.custom[0]!.seriesQuery
}

interface Sample {
  metric: Record<string, string>
  value: [number, string]
}

async function runQuery(query: string): Promise<Sample[]> {
  const response = await fetch(`${URL_ON_HOST}/api/v1/query?${new URLSearchParams({ query }).toString()}`)
  if (!response.ok) throw new Error(`${query}: ${await response.text()}`)
  const { data } = (await response.json()) as { data: { result: Sample[] } }
  return data.result
}
