/**
 * kubectl and helm on one cluster. Neither blocks this process, which sends load meanwhile. Each invocation names the cluster,
 * so that none reaches the current context of the reader.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { findTool, HELM_HOME } from '../../../scripts/deploy/helm.ts'

export interface ClusterTools {
  kubectl(...args: string[]): Promise<string>
  /** Feeds kubectl a manifest: objects, or their text. */
  apply(manifest: string | object[], ...args: string[]): Promise<string>
  read<T = ClusterObject>(...args: string[]): Promise<T>
  /** Its lines on stderr are warnings of the API server. */
  helm(...args: string[]): Promise<{ output: string; warnings: string[] }>
  /** Until it is disposed, a local port leads to a port of a pod of the workload. Policies have no effect on it. */
  forward(workload: string, ports: { local: number; remote: number }, ...args: string[]): Promise<AsyncDisposable>
}

export interface ClusterObject {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; uid?: string; resourceVersion?: string; generation?: number }
  [field: string]: unknown
}

/** The administrator's file of a cluster that was built here, or one of the reader's contexts. */
export type Access = { kubeconfig: string } | { context: string }

type Tool = 'helm' | 'kubectl'

/** Helm's own remarks; and Kubernetes 1.34 warns so of every headless Service, since it compares after its own default. */
const IS_NO_WARNING = /^level=INFO|spec\.SessionAffinity is ignored for headless services/
const CONTEXT_FLAG = { kubectl: '--context', helm: '--kube-context' }

export interface Invocation {
  args: string[]
  env: NodeJS.ProcessEnv
}

/** A reader's context may need programs and files of the reader; an own cluster needs none of them. */
export function invocationOf(tool: Tool, args: readonly string[], access: Access): Invocation {
  if ('context' in access) return { args: [CONTEXT_FLAG[tool], access.context, ...args], env: process.env }
  return {
    args: [...args],
    env: { PATH: process.env['PATH'], HOME: HELM_HOME, KUBECONFIG: access.kubeconfig },
  }
}

export function clusterTools(access: Access, find: (tool: Tool) => string = findTool): ClusterTools {
  const start = (tool: Tool, words: readonly string[]) => {
    const { args, env } = invocationOf(tool, words, access)
    return spawn(find(tool), args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
  }
  const run = async (tool: Tool, args: string[], input = '') => {
    const child = start(tool, args)
    child.stdin.on('error', () => {}).end(input)
    const [output, said, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    if (code !== 0) throw new Error(`${tool} ${args.join(' ')}: ${said.trim() || output.trim()}`)
    return { output, said }
  }
  const kubectl = async (...args: string[]) => (await run('kubectl', args)).output
  return {
    kubectl,
    async apply(manifest, ...args) {
      const input = typeof manifest === 'string' ? manifest : JSON.stringify(listOf(manifest))
      return (await run('kubectl', ['apply', '--server-side', '--filename', '-', ...args], input)).output
    },
    read: async <T>(...args: string[]) => JSON.parse(await kubectl('get', '--output', 'json', ...args)) as T,
    async helm(...args) {
      const { output, said } = await run('helm', args)
      return { output, warnings: said.split('\n').filter((line) => line !== '' && !IS_NO_WARNING.test(line)) }
    },
    async forward(workload, { local, remote }, ...args) {
      const child = start('kubectl', ['port-forward', workload, `${local}:${remote}`, ...args])
      dieWithParent(child)
      const ended = Promise.all([text(child.stderr), once(child, 'exit')]).then(([said]) => said.trim())
      const complaint = await Promise.race([once(child.stdout, 'data').then(() => undefined), ended])
      if (complaint !== undefined) throw new Error(`kubectl port-forward ${workload}: ${complaint}`)
      child.stdout.resume()
      return {
        async [Symbol.asyncDispose]() {
          child.kill('SIGTERM')
          await ended
        },
      }
    },
  }
}

function listOf(items: object[]): object {
  return { apiVersion: 'v1', kind: 'List', items }
}
