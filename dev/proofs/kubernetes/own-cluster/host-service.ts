/**
 * Services of the cluster whose program runs on the host, beside the control plane.
 */

import type { ClusterTools } from '../cluster-tools.ts'
import { HOST_ADDRESS } from './control-plane.ts'

export interface HostService {
  namespace: string
  name: string
  ports: { name: string; port: number; protocol: 'TCP' | 'UDP' }[]
}

export function hostService({ namespace, name, ports }: HostService): object[] {
  const metadata = { name, namespace, labels: { 'kubernetes.io/service-name': name } }
  return [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata,
      addressType: 'IPv4',
      ports,
      endpoints: [{ addresses: [HOST_ADDRESS], conditions: { ready: true } }],
    },
  ]
}

export interface ServedApi {
  group: string
  version: string
  service: HostService
}

/** Until it is disposed, the API server passes requests for this part of the API on to that service. */
export async function serveApi(tools: ClusterTools, { group, version, service }: ServedApi): Promise<AsyncDisposable> {
  const { namespace, name, ports } = service
  const part = {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `${version}.${group}` },
    spec: {
      group,
      version,
      service: { namespace, name, port: ports[0]!.port },
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
    },
  }
  await tools.apply([...hostService(service), ...letAnybodyRead(group), part])
  return {
    // While no server responds for one part of the API, the API server cannot list its parts.
    async [Symbol.asyncDispose]() {
      await tools.kubectl('delete', 'apiservice', part.metadata.name)
    },
  }
}

/** The API server passes requests on without a certificate, so the program takes them for anybody's. */
function letAnybodyRead(group: string): object[] {
  const metadata = { name: `anybody-reads-${group}` }
  const rules = [
    { apiGroups: [group], resources: ['*'], verbs: ['get', 'list'] },
    // The lists of resources.
    { nonResourceURLs: ['/apis', `/apis/${group}`, `/apis/${group}/*`], verbs: ['get'] },
  ]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:anonymous' }]
  return [
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata, roleRef, subjects },
  ]
}
