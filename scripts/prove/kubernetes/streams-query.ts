/**
 * Scaling by open streams, up to the adapter: Debian's Prometheus finds the pods as the chart's ServiceMonitor tells an
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

interface Endpoint {
  port: string
  path: string
  honorLabels?: boolean
}

export function startPrometheus(
  file: string,
  { state, logs }: Places,
  kubeconfig: string,
  tools: ClusterTools,
): Promise<AsyncDisposable> {
  return configure(state, kubeconfig, tools).then((config) =>
    startDaemon({
      name: 'prometheus',
      file,
      args: [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(state, 'prometheus')}`,
        `--web.listen-address=${ADDRESS}`,
      ],
      logs,
      isReady: async () => (await fetch(`http://${ADDRESS}/-/ready`)).ok,
    }),
  )
}

/** While clients have streams open. Answers how many each query sees. */
export async function seeStreams(): Promise<string> {
  const seen: string[] = []
  for (const query of kedaQueries()) seen.push(String(await positive(query)))
  const { result } = await ask(adapterSeries())
  const pods = new Set(result.map(({ metric }) => `${metric['namespace']}/${metric['pod']}`))
  return `${seen.join(' and ')} streams by KEDA’s queries; the adapter’s series of ${pods.size} pods`
}

/** What a Prometheus operator makes of the ServiceMonitor. */
async function configure(state: string, kubeconfig: string, tools: ClusterTools): Promise<string> {
  const monitor = await tools.read<{ spec: { endpoints: Endpoint[] } }>(
    'servicemonitors.monitoring.coreos.com/gateway-model-gateway',
    '--namespace',
    NAMESPACE,
  )
  const [endpoint] = monitor.spec.endpoints
  const meta = (name: string) => `__meta_kubernetes_${name}`
  const job = {
    job_name: 'gateway',
    scrape_interval: '2s',
    metrics_path: endpoint!.path,
    honor_labels: endpoint!.honorLabels ?? false,
    kubernetes_sd_configs: [{ role: 'endpoints', kubeconfig_file: kubeconfig, namespaces: { names: [NAMESPACE] } }],
    relabel_configs: [
      { action: 'keep', source_labels: [meta('service_label_model_gateway_metrics')], regex: 'true' },
      { action: 'keep', source_labels: [meta('endpoint_port_name')], regex: endpoint!.port },
      ...['namespace', 'pod', 'service'].map((label) => ({
        source_labels: [meta(label === 'namespace' ? label : `${label}_name`)],
        target_label: label,
      })),
    ],
  }
  const folder = join(state, 'prometheus')
  await mkdir(folder, { recursive: true })
  const path = join(folder, 'prometheus.yml')
  await writeFile(path, JSON.stringify({ scrape_configs: [job] }))
  return path
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
