/**
 * Scaling by open streams, up to the adapter: Debian's Prometheus reads the pods as the chart's ServiceMonitor tells an
 * operator's, and answers the queries of `deploy/companions/` as KEDA and the Prometheus adapter would ask them.
 */

import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { DEPLOY } from '../../deploy/chart.ts'
import { readManifests } from '../../deploy/validate-manifests.ts'
import type { ClusterTools } from './cluster-tools.ts'
import type { Places } from './control-plane.ts'
import { startDaemon } from './daemon.ts'
import { NAMESPACE } from './stage.ts'

const ADDRESS = '127.0.0.1:9090'
const SEEN_WITHIN_MS = 60_000

interface Monitor {
  spec: {
    selector: { matchLabels: Record<string, string> }
    endpoints: { port: string; path: string; honorLabels?: boolean }[]
  }
}

interface Slice {
  metadata: { labels: Record<string, string> }
  ports: { name: string; port: number }[]
  endpoints: { addresses: string[]; targetRef: { name: string } }[]
}

export async function startPrometheus(
  file: string,
  { state, logs }: Places,
  tools: ClusterTools,
): Promise<AsyncDisposable> {
  const folder = join(state, 'prometheus')
  const config = join(folder, 'prometheus.yml')
  await mkdir(folder, { recursive: true })
  await writeFile(config, JSON.stringify({ scrape_configs: [await readMonitor(tools)] }))
  return startDaemon({
    name: 'prometheus',
    file,
    args: [`--config.file=${config}`, `--storage.tsdb.path=${folder}`, `--web.listen-address=${ADDRESS}`],
    logs,
    isReady: async () => (await fetch(`http://${ADDRESS}/-/ready`)).ok,
  })
}

/** While clients have streams open. Answers how many each query sees. */
export async function seeStreams(): Promise<string> {
  const seen: string[] = []
  for (const query of kedaQueries()) seen.push(String(await positive(query)))
  const { result } = await ask(adapterSeries())
  const pods = new Set(result.map(({ metric }) => `${metric['namespace']}/${metric['pod']}`))
  return `${seen.join(' and ')} streams by KEDA’s queries; the adapter’s series of ${pods.size} pods`
}

/** What a Prometheus operator makes of the ServiceMonitor, but for pods that come later: Debian's finds none by itself. */
async function readMonitor(tools: ClusterTools): Promise<object> {
  const inNamespace = ['--namespace', NAMESPACE]
  const monitor = await tools.read<Monitor>(
    'servicemonitors.monitoring.coreos.com/gateway-model-gateway',
    ...inNamespace,
  )
  const { selector, endpoints } = monitor.spec
  const labels = Object.entries(selector.matchLabels).map(([name, value]) => `${name}=${value}`)
  const found = await tools.read<{ items: Slice[] }>('endpointslices', ...inNamespace, '--selector', labels.join(','))
  const targets = found.items.flatMap(({ metadata, ports, endpoints: pods }) => {
    const port = ports.find(({ name }) => name === endpoints[0]!.port)
    if (!port) return []
    const service = metadata.labels['kubernetes.io/service-name']
    return pods.map(({ addresses, targetRef }) => ({
      targets: [`${addresses[0]}:${port.port}`],
      labels: { namespace: NAMESPACE, pod: targetRef.name, service },
    }))
  })
  return {
    job_name: 'gateway',
    scrape_interval: '2s',
    metrics_path: endpoints[0]!.path,
    honor_labels: endpoints[0]!.honorLabels ?? false,
    static_configs: targets,
  }
}

function kedaQueries(): string[] {
  const objects = readManifests(readFileSync(join(DEPLOY, 'companions/keda.yaml'), 'utf8')) as unknown as {
    spec: { triggers: { type: string; metadata: { query: string } }[] }
  }[]
  return objects.flatMap(({ spec }) =>
    spec.triggers.filter(({ type }) => type === 'prometheus').map(({ metadata }) => metadata.query),
  )
}

function adapterSeries(): string {
  const [values] = readManifests(
    readFileSync(join(DEPLOY, 'companions/prometheus-adapter.yaml'), 'utf8'),
  ) as unknown as {
    rules: { custom: { seriesQuery: string }[] }
  }[]
  return values!.rules.custom[0]!.seriesQuery
}

async function positive(query: string): Promise<number> {
  const deadlineMs = Date.now() + SEEN_WITHIN_MS
  for (;;) {
    const { result } = await ask(query)
    const value = Number(result[0]?.value[1] ?? 0)
    if (value > 0) return value
    if (Date.now() > deadlineMs) throw new Error(`no stream was seen by ${query}: ${JSON.stringify(result)}`)
    await delay(500)
  }
}

interface Answer {
  result: { metric: Record<string, string>; value: [number, string] }[]
}

async function ask(query: string): Promise<Answer> {
  const answer = await fetch(`http://${ADDRESS}/api/v1/query?${new URLSearchParams({ query }).toString()}`)
  if (!answer.ok) throw new Error(`${query}: ${await answer.text()}`)
  return ((await answer.json()) as { data: Answer }).data
}
