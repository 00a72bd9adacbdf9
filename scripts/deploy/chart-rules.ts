/**
 * Rules between the manifests of one rendering, beyond each one's schema. Services read their environments, and selectors select.
 * Ports are open, and the restricted Pod Security Standard admits every pod. Pods have time to stop, and the config file loads.
 */

import { type LoadedConfig, loadConfig } from '@gateway/config/load-config'
import { problemsOfEnvironment, type ServiceName, serviceNames } from './service-environment.ts'
import type { Manifest } from './validate-manifests.ts'

interface Container {
  name: string
  env?: { name: string; value?: string }[]
  ports?: { name: string; containerPort: number }[]
  lifecycle?: { preStop?: { sleep?: { seconds: number } } }
  startupProbe?: Probe
  readinessProbe?: Probe
  livenessProbe?: Probe
  securityContext?: Record<string, unknown>
  resources?: { requests?: object; limits?: { memory?: string } }
  volumeMounts?: { name: string; mountPath: string }[]
}
interface Probe {
  httpGet?: { port: string | number }
}
interface PodSpec {
  automountServiceAccountToken?: boolean
  serviceAccountName?: string
  terminationGracePeriodSeconds?: number
  securityContext?: { runAsNonRoot?: boolean; seccompProfile?: { type: string } }
  containers: Container[]
  volumes?: { name: string; configMap?: { name: string } }[]
}
interface Workload extends Manifest {
  spec: {
    template: { metadata: { labels: Labels }; spec: PodSpec }
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
}
interface Peer {
  ipBlock?: { cidr: string }
}
interface PolicySpec {
  ingress?: { from?: Peer[] }[]
  egress?: { to?: Peer[] }[]
}
type Labels = Record<string, string>
type Rule = (manifests: readonly Manifest[]) => string[]

export function brokenRules(manifests: readonly Manifest[]): string[] {
  return rules.flatMap((rule) => rule(manifests))
}

const workloadsOf = (manifests: readonly Manifest[]) =>
  manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet') as Workload[]

const everyContainer = (manifests: readonly Manifest[]) =>
  workloadsOf(manifests).flatMap((workload) =>
    workload.spec.template.spec.containers.map((container) => ({
      workload,
      pod: workload.spec.template.spec,
      container,
    })),
  )

const environmentIsRead: Rule = (manifests) =>
  everyContainer(manifests).flatMap(({ container }) => {
    if (!isService(container.name)) return []
    const given = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value ?? null]))
    return problemsOfEnvironment(container.name, given)
  })

const everyServiceIsThere: Rule = (manifests) => {
  const there = everyContainer(manifests).map(({ container }) => container.name)
  return serviceNames.filter((name) => !there.includes(name)).map((name) => `nothing runs ${name}`)
}

const podsAreRestricted: Rule = (manifests) =>
  everyContainer(manifests).flatMap(({ workload, pod, container }) => {
    const { securityContext: own = {} } = container
    const wanted: [boolean, string][] = [
      [pod.securityContext?.runAsNonRoot === true, 'may run as root'],
      [pod.securityContext?.seccompProfile?.type === 'RuntimeDefault', 'has no seccomp profile'],
      [pod.automountServiceAccountToken === false, "holds the cluster's credentials"],
      [own['allowPrivilegeEscalation'] === false, 'may escalate its privileges'],
      [own['readOnlyRootFilesystem'] === true, 'may write its root file system'],
      [JSON.stringify(own['capabilities']) === '{"drop":["ALL"]}', 'keeps capabilities'],
      [container.resources?.limits?.memory !== undefined, 'has no bound on its memory'],
    ]
    return wanted.filter(([holds]) => !holds).map(([, fault]) => `${workload.metadata.name} ${fault}`)
  })

const portsAreOpen: Rule = (manifests) =>
  everyContainer(manifests).flatMap(({ workload, container }) => {
    // Nobody calls it: the operator's pod.
    if (!container.ports) return []
    const open = new Set(container.ports.map(({ name }) => name))
    const { startupProbe, readinessProbe, livenessProbe } = container
    return Object.entries({ startupProbe, readinessProbe, livenessProbe }).flatMap(([kind, probe]) => {
      if (!probe?.httpGet) return [`${workload.metadata.name} has no ${kind}`]
      return open.has(String(probe.httpGet.port))
        ? []
        : [`${workload.metadata.name}: its ${kind} asks a port that is not open`]
    })
  })

const selectorsSelect: Rule = (manifests) =>
  manifests.flatMap((manifest) => {
    const spec = (
      manifest as { spec?: { selector?: Labels & { matchLabels?: Labels }; podSelector?: { matchLabels?: Labels } } }
    ).spec
    const called = `${manifest.kind} ${manifest.metadata.name}`
    const labels =
      manifest.kind === 'Service'
        ? spec?.selector
        : manifest.kind === 'NetworkPolicy'
          ? spec?.podSelector?.matchLabels
          : manifest.kind === 'PodDisruptionBudget'
            ? spec?.selector?.matchLabels
            : undefined
    if (!labels) return []
    const selected = workloadsOf(manifests).filter((workload) =>
      includes(workload.spec.template.metadata.labels, labels),
    )
    if (selected.length === 0) return [`${called} selects nothing`]
    const { ports = [] } = (manifest.kind === 'Service' ? spec : {}) as { ports?: { targetPort: string }[] }
    const open = selected.flatMap(({ spec: { template } }) =>
      template.spec.containers.flatMap((container) => container.ports ?? []),
    )
    return ports
      .filter(({ targetPort }) => !open.some(({ name }) => name === targetPort))
      .map(({ targetPort }) => `${called} leads to the port ${targetPort}, which nobody opens`)
  })

const scalersScale: Rule = (manifests) =>
  manifests.flatMap((manifest) => {
    if (manifest.kind !== 'HorizontalPodAutoscaler') return []
    const { name } = (manifest as unknown as { spec: { scaleTargetRef: { name: string } } }).spec.scaleTargetRef
    const target = workloadsOf(manifests).find(({ metadata }) => metadata.name === name)
    if (!target) return [`HorizontalPodAutoscaler ${manifest.metadata.name} scales nothing`]
    return 'replicas' in target.spec ? [`${name}: two set the number of its pods`] : []
  })

const stoppingHasTime: Rule = (manifests) =>
  everyContainer(manifests).flatMap(({ workload, pod, container }) => {
    const ofVariable = (name: string) => Number(container.env?.find((variable) => variable.name === name)?.value ?? 0)
    const preStopMs = (container.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000
    const neededMs = preStopMs + ofVariable('STOP_NOTICE_MS') + ofVariable('DRAIN_MS')
    const graceMs = (pod.terminationGracePeriodSeconds ?? 30) * 1000
    return graceMs > neededMs
      ? []
      : [`${workload.metadata.name} is killed ${neededMs - graceMs} ms before it has stopped`]
  })

const volumesAreThere: Rule = (manifests) =>
  everyContainer(manifests).flatMap(({ workload, pod, container }) => {
    const volumes = [
      ...(pod.volumes ?? []),
      ...(workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata),
    ]
    const mounts = container.volumeMounts ?? []
    const loose = mounts.filter(({ name }) => !volumes.some((volume) => volume.name === name))
    const config = container.env?.find(({ name }) => name === 'GATEWAY_CONFIG')?.value
    const isMounted = config === undefined || mounts.some(({ mountPath }) => config.startsWith(`${mountPath}/`))
    return [
      ...loose.map(({ name }) => `${workload.metadata.name} mounts ${name}, which is no volume of it`),
      ...(isMounted ? [] : [`${workload.metadata.name} reads ${config}, which nothing mounts`]),
    ]
  })

const configLoads: Rule = (manifests) =>
  manifests.flatMap((manifest) => {
    try {
      configOf(manifest)
      return []
    } catch (error) {
      return [String(error)]
    }
  })

/** The policies let a router reach the port of each backend that the config file names. */
const backendsAreReachable: Rule = (manifests) => {
  const policy = manifests.find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-router'))
  if (!policy) return []
  const { egress } = (policy as unknown as { spec: { egress: { ports: { port: string | number }[] }[] } }).spec
  const open = new Set(egress.flatMap(({ ports }) => ports.map(({ port }) => String(port))))
  return manifests.flatMap((manifest) => {
    const backends = loadable(manifest)?.config.backends ?? []
    return backends
      .filter(({ url }) => !open.has(portOf(new URL(url))))
      .map(({ id, url }) => `${policy.metadata.name} keeps the router from ${id} at ${url}`)
  })
}

/** IPv4 and IPv6 have a block each: a rule that names everybody of one family refuses everybody of the other. */
const everybodyHasBothFamilies: Rule = (manifests) =>
  manifests.flatMap((manifest) => {
    if (manifest.kind !== 'NetworkPolicy') return []
    const { ingress = [], egress = [] } = (manifest as unknown as { spec: PolicySpec }).spec
    const peers = [...ingress.map(({ from = [] }) => from), ...egress.map(({ to = [] }) => to)]
    return peers.flatMap((of) => {
      const named = new Set(of.map(({ ipBlock }) => ipBlock?.cidr))
      const [family, ...others] = EVERYBODY.filter((cidr) => named.has(cidr))
      if (family === undefined || others.length > 0) return []
      const missing = EVERYBODY.find((cidr) => cidr !== family)
      return [`${manifest.metadata.name} names ${family}, not ${missing}`]
    })
  })

const EVERYBODY = ['0.0.0.0/0', '::/0']

/** An operator's Prometheus gives each target a label `service`, which our alerts and dashboards read as ours. */
const seriesKeepTheirService: Rule = (manifests) =>
  manifests.flatMap((manifest) => {
    if (manifest.kind !== 'ServiceMonitor') return []
    const { endpoints } = (manifest as unknown as { spec: { endpoints: { honorLabels?: boolean }[] } }).spec
    return endpoints.every(({ honorLabels }) => honorLabels === true) ? [] : ['series lose their label service']
  })

const rules: Rule[] = [
  everyServiceIsThere,
  environmentIsRead,
  podsAreRestricted,
  portsAreOpen,
  selectorsSelect,
  scalersScale,
  stoppingHasTime,
  volumesAreThere,
  configLoads,
  backendsAreReachable,
  everybodyHasBothFamilies,
  seriesKeepTheirService,
]

/** The config file in a ConfigMap. */
function configOf(manifest: Manifest): LoadedConfig | undefined {
  const text = (manifest as { data?: Record<string, string> }).data?.['gateway.yaml']
  return manifest.kind === 'ConfigMap' && text !== undefined ? loadConfig(text, manifest.metadata.name) : undefined
}

function loadable(manifest: Manifest): LoadedConfig | undefined {
  try {
    return configOf(manifest)
  } catch {
    return undefined
  }
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

function includes(labels: Labels, wanted: Labels): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value)
}

function isService(name: string): name is ServiceName {
  return (serviceNames as string[]).includes(name)
}
