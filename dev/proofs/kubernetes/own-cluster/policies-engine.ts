/**
 * Calico as the cluster's network: its CNI plugin gives each pod an interface and a route. Felix enforces the NetworkPolicies:
 * it drops every packet that none of them allows.
 */

import { readdir, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClusterTools } from '../cluster-tools.ts'
import { startDaemon } from './daemon.ts'
import type { Host } from './host.ts'

const DEBIANS_PROGRAMS = '/usr/lib/cni'
const HEALTH_PORT = 9_099

/** Comes before any pod: the CNI plugin reads them. `engine` is the folder of Calico's programs. */
export async function defineCalicosKinds(tools: ClusterTools, engine: string): Promise<void> {
  const folder = join(engine, 'definitions')
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  await tools.apply(files.join('\n---\n'))
  await tools.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
  await tools.apply([
    {
      apiVersion: 'crd.projectcalico.org/v1',
      kind: 'ClusterInformation',
      metadata: { name: 'default' },
      spec: { datastoreReady: true },
    },
  ])
}

/** Fills a folder with the CNI programs that `podNetwork` names. */
export async function linkCniPrograms(folder: string, engine: string): Promise<void> {
  await symlink(join(engine, 'calico'), join(folder, 'calico'))
  for (const name of ['host-local', 'loopback']) await symlink(join(DEBIANS_PROGRAMS, name), join(folder, name))
}

/** A configuration for containerd. Other nodes are reached by routes of the host. */
export function podNetwork(folder: string, host: Host, kubeconfig: string): object {
  return {
    cniVersion: '0.4.0',
    name: 'pods',
    plugins: [
      {
        type: 'calico',
        datastore_type: 'kubernetes',
        kubernetes: { kubeconfig },
        policy: { type: 'k8s' },
        nodename: host.name,
        nodename_file_optional: true,
        log_file_path: join(folder, 'calico.log'),
        ipam: { type: 'host-local', dataDir: join(folder, 'addresses'), ranges: [[{ subnet: host.podRange }]] },
      },
    ],
  }
}

/** Resolves when it enforces the policies of the pods on this host. */
export function startFelix(
  engine: string,
  host: Host,
  { kubeconfig, logs }: { kubeconfig: string; logs: string },
): Promise<AsyncDisposable> {
  const settings = {
    DATASTORETYPE: 'kubernetes',
    FELIXHOSTNAME: host.name,
    HEALTHENABLED: 'true',
    HEALTHHOST: host.address,
    HEALTHPORT: String(HEALTH_PORT),
    // After the pod's own policies: the API server runs on its host.
    DEFAULTENDPOINTTOHOSTACTION: 'ACCEPT',
    IPV6SUPPORT: 'false',
    XDPENABLED: 'false',
    USAGEREPORTINGENABLED: 'false',
    LOGFILEPATH: 'none',
    LOGSEVERITYSCREEN: 'WARNING',
    LOGSEVERITYSYS: 'none',
  }
  return startDaemon({
    name: `felix-${host.name}`,
    ...host.command(join(engine, 'felix'), []),
    environment: {
      ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [`FELIX_${name}`, value])),
      KUBECONFIG: kubeconfig,
    },
    logs,
    isReady: async () => (await fetch(`http://${host.address}:${HEALTH_PORT}/readiness`)).ok,
  })
}
