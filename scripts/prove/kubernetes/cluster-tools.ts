/**
 * kubectl and helm on the cluster, as its administrator. Neither blocks this process, which sends load meanwhile.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { findTool, HELM_HOME } from '../../deploy/helm.ts'

export interface ClusterTools {
  kubectl(...args: string[]): Promise<string>
  /** Feeds kubectl a manifest: objects, or their text. */
  apply(manifest: string | object[], ...args: string[]): Promise<string>
  read<T = ClusterObject>(...args: string[]): Promise<T>
  /** What it says beside its answer is a warning of the API server. */
  helm(...args: string[]): Promise<{ answer: string; warnings: string[] }>
}

export interface ClusterObject {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; uid?: string; resourceVersion?: string; generation?: number }
  [field: string]: unknown
}

/** Helm's own remarks; and Kubernetes 1.34 warns so of every headless Service, since it compares after its own default. */
const IS_NO_WARNING = /^level=INFO|spec\.SessionAffinity is ignored for headless services/

export function clusterTools(kubeconfig: string): ClusterTools {
  const env = { PATH: process.env['PATH'], HOME: HELM_HOME, KUBECONFIG: kubeconfig }
  const run = async (tool: 'helm' | 'kubectl', args: string[], input = '') => {
    const child = spawn(findTool(tool), args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.on('error', () => {}).end(input)
    const [answer, said, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    if (code !== 0) throw new Error(`${tool} ${args.join(' ')}: ${said.trim() || answer.trim()}`)
    return { answer, said }
  }
  const kubectl = async (...args: string[]) => (await run('kubectl', args)).answer
  return {
    kubectl,
    async apply(manifest, ...args) {
      const input = typeof manifest === 'string' ? manifest : JSON.stringify(listOf(manifest))
      return (await run('kubectl', ['apply', '--server-side', '--filename', '-', ...args], input)).answer
    },
    read: async <T>(...args: string[]) => JSON.parse(await kubectl('get', '--output', 'json', ...args)) as T,
    async helm(...args) {
      const { answer, said } = await run('helm', args)
      return { answer, warnings: said.split('\n').filter((line) => line !== '' && !IS_NO_WARNING.test(line)) }
    },
  }
}

function listOf(items: object[]): object {
  return { apiVersion: 'v1', kind: 'List', items }
}
