/**
 * The names of services: CoreDNS as a pod of `kube-system`, where the chart's policies look for it.
 */

import type { ClusterTools } from '../cluster-tools.ts'
import { DNS_ADDRESS } from './control-plane.ts'
import { NAMES_IMAGE } from './images.ts'

const NAME = 'kube-dns'
const NAMESPACE = 'kube-system'
const READY_PORT = 8181
const PORTS = [
  { name: 'udp', protocol: 'UDP', port: 53 },
  { name: 'tcp', protocol: 'TCP', port: 53 },
]
const CONFIG = `.:53 {
  errors
  ready 0.0.0.0:${READY_PORT}
  cache 5
  kubernetes cluster.local in-addr.arpa
}
`

/** Resolves when it responds. */
export async function startNames(tools: ClusterTools): Promise<void> {
  const metadata = { name: NAME, namespace: NAMESPACE }
  const labels = { app: NAME }
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: NAME }
  const rules = [
    { apiGroups: [''], resources: ['services', 'namespaces', 'pods'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  ]
  const container = {
    name: 'coredns',
    image: NAMES_IMAGE,
    imagePullPolicy: 'Never',
    args: ['-conf', '/etc/coredns/Corefile'],
    ports: PORTS.map(({ name, protocol, port }) => ({ name, protocol, containerPort: port })),
    readinessProbe: { httpGet: { path: '/ready', port: READY_PORT }, periodSeconds: 1 },
    volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
  }
  const spec = {
    serviceAccountName: NAME,
    containers: [container],
    volumes: [{ name: 'config', configMap: { name: NAME } }],
  }
  await tools.apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: NAME }, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: NAME },
      roleRef,
      subjects: [{ kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE }],
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: CONFIG } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: {
        clusterIP: DNS_ADDRESS,
        selector: labels,
        ports: PORTS.map((port) => ({ ...port, targetPort: port.name })),
      },
    },
  ])
  await tools.kubectl('rollout', 'status', '--namespace', NAMESPACE, `deployment/${NAME}`, '--timeout=120s')
}
