/**
 * The chart in front of an API server, with each set of values under `deploy/values/`. The server takes every manifest without
 * a warning and as it was sent. Upgrade, rollback and uninstall do their work. Needs no node.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { CHART, DEPLOY, valueSets } from '../../../scripts/deploy/chart.ts'
import { readManifests } from '../../../scripts/deploy/validate-manifests.ts'
import type { ClusterObject, ClusterTools } from './cluster-tools.ts'
import { customResources } from './custom-resources.ts'
import { differences } from './differences.ts'
import { step } from '../engine/steps.ts'

const RELEASE = 'gateway'
/** The settings of an upgrade: something changes, something comes, something goes. */
const OTHER_VERSION = ['--set', 'image.tag=9.9.9,ctl.enabled=true,networkPolicy.enabled=false']
/** Objects that the cluster makes by itself in each namespace. */
const OF_THE_CLUSTER = ['kube-root-ca.crt', 'default']

/** Before anything of the chart that a monitoring operator would read. */
export async function defineOperatorsKinds(tools: ClusterTools): Promise<void> {
  await step('definitions of the operators’ kinds', async () => {
    await tools.apply(customResources())
    await tools.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s')
    return `${customResources().length} kinds`
  })
}

export async function proveReleases(tools: ClusterTools): Promise<void> {
  await step('deploy/companions', async () => {
    for (const name of ['redis', 'keda']) {
      const manifest = readFileSync(join(DEPLOY, 'companions', `${name}.yaml`), 'utf8')
      await tools.apply(manifest, '--namespace=default', '--dry-run=server', '--validate=strict')
    }
  })
  for (const set of valueSets) await proveRelease(tools, set)
}

async function proveRelease(tools: ClusterTools, set: string): Promise<void> {
  const named = (what: string) => `values/${set}.yaml: ${what}`
  const values = ['--values', join(DEPLOY, 'values', `${set}.yaml`)]
  const helm = async (...args: string[]) => {
    const { output, warnings } = await tools.helm(...args, '--namespace', set)
    if (warnings.length > 0) throw new Error(`the API server warns:\n${warnings.join('\n')}`)
    return output
  }
  const objects = () => objectsOf(tools, set)

  await step(named('install, with nothing warned of and nothing changed'), async () => {
    await tools.apply([restrictedNamespace(set)])
    await helm('install', RELEASE, CHART, ...values, '--dry-run=server')
    await helm('install', RELEASE, CHART, ...values)
    const sent = await sentObjects(tools, set)
    const changes = (await objects()).flatMap((live, index) => differences(sent[index], live, nameOf(live)))
    if (changes.length > 0) throw new Error(changes.join('\n'))
    return `${sent.length} objects`
  })
  const installed = await objects()
  await step(named('the same upgrade again changes no object'), async () => {
    await helm('upgrade', RELEASE, CHART, ...values)
    expectSame(await objects(), installed, ({ metadata }) => metadata.resourceVersion)
  })
  await step(named('upgrade, rollback: all is as it was'), async () => {
    await helm('upgrade', RELEASE, CHART, ...values, ...OTHER_VERSION)
    const upgraded = await objects()
    await helm('rollback', RELEASE, '1')
    expectSame(await objects(), installed, withoutHistory)
    return `${upgraded.length} objects between`
  })
  await step(named('uninstall leaves nothing'), async () => {
    await helm('uninstall', RELEASE)
    const left = await namesIn(tools, set)
    if (left.length > 0) throw new Error(`these are left: ${left.join(', ')}`)
  })
}

/**
 * A namespace that refuses pods beyond the restricted Pod Security Standard, and warns of every object that would make such
 * pods.
 */
export function restrictedNamespace(name: string): object {
  const labels = { enforce: 'restricted', warn: 'restricted' }
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      labels: Object.fromEntries(
        Object.entries(labels).map(([mode, level]) => [`pod-security.kubernetes.io/${mode}`, level]),
      ),
    },
  }
}

/** The objects that Helm sent, each as the server has it now. */
async function objectsOf(tools: ClusterTools, namespace: string): Promise<ClusterObject[]> {
  const sent = await sentObjects(tools, namespace)
  const names = sent.map(({ apiVersion, kind, metadata }) => {
    const [version, group] = apiVersion.split('/').toReversed()
    return `${kind}${group === undefined ? '' : `.${version}.${group}`}/${metadata.name}`
  })
  const { items } = await tools.read<{ items: ClusterObject[] }>('--namespace', namespace, ...names)
  return items
}

async function sentObjects(tools: ClusterTools, namespace: string): Promise<ClusterObject[]> {
  const { output } = await tools.helm('get', 'manifest', RELEASE, '--namespace', namespace)
  return readManifests(output) as unknown as ClusterObject[]
}

/** Everything in the namespace that the cluster did not make by itself. */
export async function namesIn(tools: ClusterTools, namespace: string): Promise<string[]> {
  const kinds = await tools.kubectl('api-resources', '--namespaced', '--verbs=list', '--output=name')
  const listed = kinds.split('\n').filter((kind) => kind !== '' && !/^events|metrics\.k8s\.io$/.test(kind))
  const names = await tools.kubectl('get', listed.join(','), '--namespace', namespace, '--output=name')
  return names.split('\n').filter((name) => name !== '' && !OF_THE_CLUSTER.includes(name.split('/')[1]!))
}

function expectSame(now: ClusterObject[], before: ClusterObject[], of: (object: ClusterObject) => unknown): void {
  const changed = now.filter((object, index) => !isDeepStrictEqual(of(object), before[index] && of(before[index])))
  if (changed.length > 0 || now.length !== before.length) {
    throw new Error(`${now.length} objects after ${before.length}; changed: ${changed.map(nameOf).join(', ')}`)
  }
}

function withoutHistory({ metadata, ...rest }: ClusterObject): unknown {
  const { name, namespace, labels, annotations } = metadata as Record<string, unknown>
  const { clusterIP: _ip, clusterIPs: _ips, ...spec } = (rest['spec'] ?? {}) as Record<string, unknown>
  return { ...rest, status: undefined, spec, metadata: { name, namespace, labels, annotations } }
}

function nameOf({ kind, metadata }: ClusterObject): string {
  return `${kind} ${metadata.name}`
}
