/**
 * A node: containerd, kubelet, kube-proxy and Felix on a host of its own. The first is the host of the control plane; others are
 * network namespaces that are plugged into its bridge.
 */

import { existsSync, globSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlGroup } from '../../engine/own-world.ts'
import type { ClusterTools } from '../cluster-tools.ts'
import { DNS_ADDRESS, type ControlPlane, type ClusterFolders, POD_RANGE, SERVICE_RANGE } from './control-plane.ts'
import { startDaemon } from './daemon.ts'
import { execute, forwardPackets, type Host, runOn } from './host.ts'
import { PAUSE_IMAGE } from './images.ts'
import { linkCniPrograms, podNetwork, startFelix } from './policies-engine.ts'

export interface NodeParts extends ClusterFolders {
  host: Host
  policyEngine: string
  controlPlane: ControlPlane
  tools: ClusterTools
  /** Brings the node its images, by `ctr` with these arguments first. */
  loadImages(ctr: readonly string[]): Promise<void>
}

/** Resolves when the node is ready and has all images. */
export async function startNode(parts: NodeParts): Promise<AsyncDisposable> {
  const { host, logs, programs, policyEngine, controlPlane, tools } = parts
  const folder = join(parts.state, host.name)
  await forwardPackets(host)
  await keepServicesInside(host)
  await mkdir(folder, { recursive: true })
  await using opening = new AsyncDisposableStack()
  const start = async (name: string, file: string, args: string[], isReady: () => Promise<boolean>) =>
    opening.use(await startDaemon({ name: `${name}-${host.name}`, logs, isReady, ...host.command(file, args) }))

  const socket = join(folder, 'containerd.sock')
  await start('containerd', 'containerd', ['--config', await containerdConfig(parts, folder, socket)], async () => {
    await execute('ctr', ['--address', socket, 'version'])
    return true
  })
  await parts.loadImages(['--address', socket, '--namespace', 'k8s.io'])
  const kubeconfig = await controlPlane.kubeconfigOf(`node:${host.name}`)
  const kubelet = ['--config', await kubeletConfig(folder, socket, host), '--kubeconfig', kubeconfig]
  const identity = ['--hostname-override', host.name, '--node-ip', host.address]
  const folders = ['--root-dir', join(folder, 'kubelet'), '--cert-dir', join(folder, 'certificates')]
  await start('kubelet', join(programs, 'kubelet'), [...kubelet, ...identity, ...folders], async () => {
    await tools.kubectl('wait', '--for=condition=Ready', `node/${host.name}`, '--timeout=1s')
    return true
  })
  const proxy = ['--kubeconfig', await controlPlane.kubeconfigOf('kube-proxy'), '--hostname-override', host.name]
  const filter = ['--proxy-mode=iptables', `--cluster-cidr=${POD_RANGE}`]
  // Of the whole kernel, which is not ours to set.
  const untouched = ['max-per-core', 'tcp-timeout-established', 'tcp-timeout-close-wait'].map(
    (name) => `--conntrack-${name}=0`,
  )
  await start('kube-proxy', join(programs, 'kube-proxy'), [...proxy, ...filter, ...untouched], async () => {
    return (await runOn(host, 'iptables', '-t', 'nat', '-S', 'KUBE-SERVICES')).includes('default/kubernetes')
  })
  opening.use(await startFelix(policyEngine, host, { kubeconfig: controlPlane.kubeconfig, logs }))
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/**
 * Until kube-proxy knows a Service, packets to it would leave this world. A server outside may reply to them, and gets later
 * packets, too.
 */
async function keepServicesInside(host: Host): Promise<void> {
  for (const chain of ['OUTPUT', 'FORWARD']) {
    await runOn(host, 'iptables', '--append', chain, '--destination', SERVICE_RANGE, '--jump', 'REJECT')
  }
}

async function containerdConfig(
  { host, policyEngine, controlPlane }: NodeParts,
  folder: string,
  socket: string,
): Promise<string> {
  const path = join(folder, 'containerd.toml')
  const network = podNetwork(folder, host, controlPlane.kubeconfig)
  await writeFile(join(await made(join(folder, 'cni')), 'pods.conflist'), JSON.stringify(network))
  const cniPrograms = await made(join(folder, 'cni-programs'))
  await linkCniPrograms(cniPrograms, policyEngine)
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  await writeFile(
    path,
    `version = 2
root = "${folder}/containerd"
state = "${folder}/containerd-state"
[grpc]
  address = "${socket}"
[${cri}]
  sandbox_image = "docker.io/${PAUSE_IMAGE}"
  # A process without CAP_SYS_RESOURCE may not lower it, and no pod would start.
  restrict_oom_score_adj = true
  [${cri}.cni]
    bin_dir = "${cniPrograms}"
    conf_dir = "${folder}/cni"
  [${cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
`,
  )
  return path
}

async function kubeletConfig(folder: string, socket: string, host: Host): Promise<string> {
  const path = join(folder, 'kubelet.json')
  const resolver = join(folder, 'resolv.conf')
  await writeFile(resolver, '')
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: await openControlGroup(host),
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: 'cluster.local',
    resolvConf: resolver,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    failSwapOn: false,
    // The disk is that of the machine, and its user's to keep free.
    evictionHard: { 'nodefs.available': '0%', 'imagefs.available': '0%', 'memory.available': '0%' },
    imageGCHighThresholdPercent: 100,
    localStorageCapacityIsolation: false,
    podLogsDir: await made(join(folder, 'pod-logs')),
    volumePluginDir: await made(join(folder, 'volume-plugins')),
  }
  await writeFile(path, JSON.stringify(config))
  return path
}

async function made(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  return folder
}

/** The kubelet wants it to be there: one in each hierarchy of version 1, or the one of version 2. */
async function openControlGroup(host: Host): Promise<string> {
  const group = join(controlGroup(), host.name)
  const root = '/sys/fs/cgroup'
  const hierarchies = existsSync(join(root, 'cgroup.controllers')) ? [root] : globSync(`${root}/*/`)
  for (const hierarchy of hierarchies) {
    await mkdir(join(hierarchy, group), { recursive: true })
    for (const folder of [join(hierarchy, controlGroup()), join(hierarchy, group)]) {
      for (const file of ['cpuset.cpus', 'cpuset.mems']) await inherit(folder, file)
    }
  }
  return group
}

/** Processes are let into a group of `cpuset` only when it names processors and memory. */
async function inherit(folder: string, file: string): Promise<void> {
  if (!existsSync(join(folder, file))) return
  await writeFile(join(folder, file), await readFile(join(folder, '..', file)))
}
