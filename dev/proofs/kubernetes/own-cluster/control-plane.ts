/**
 * etcd and the API server; with a node, the controllers and the scheduler too. Their state lies in the folder given.
 */

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { startDaemon } from './daemon.ts'

/** The address of the host's interface in the namespace; everything listens there or on loopback. */
export const HOST_ADDRESS = '10.200.0.1'
export const SERVICE_RANGE = '10.96.0.0/16'
export const DNS_ADDRESS = '10.96.0.10'
export const POD_RANGE = '10.85.0.0/16'

export const API_PORT = 6443
const ETCD_URL = 'http://127.0.0.1:2379'

export interface ClusterFolders {
  programs: string
  state: string
  logs: string
}

export interface ControlPlane extends AsyncDisposable {
  /** A file for kubectl and helm, as the cluster's administrator. */
  readonly kubeconfig: string
  readonly files: { authority: string; accountKey: string }
  /** A file for a program of the cluster. */
  kubeconfigOf(user: ClusterUser): Promise<string>
}

export type ClusterUser = 'admin' | 'kube-controller-manager' | 'kube-scheduler' | 'kube-proxy' | `node:${string}`

export async function startApi(
  { programs, state, logs }: ClusterFolders,
  nodes: readonly string[],
): Promise<ControlPlane> {
  const folder = join(state, 'control-plane')
  await mkdir(folder, { recursive: true })
  const files = { authority: join(folder, 'apiserver.crt'), accountKey: join(folder, 'service-accounts.pem') }
  await using opening = new AsyncDisposableStack()
  const etcdArgs = ['--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync']
  opening.use(
    await startDaemon({
      name: 'etcd',
      file: join(programs, 'etcd'),
      args: [...etcdArgs, '--listen-client-urls', ETCD_URL, '--advertise-client-urls', ETCD_URL],
      logs,
      isReady: async () => (await fetch(`${ETCD_URL}/health`)).ok,
    }),
  )
  const kinds: ClusterUser[] = ['admin', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy']
  const tokens = tokensOf([...kinds, ...nodes.map((name) => `node:${name}` as const)])
  opening.use(
    await startDaemon({
      name: 'kube-apiserver',
      file: join(programs, 'kube-apiserver'),
      args: await apiArguments(folder, files.accountKey, tokens),
      logs,
      isReady: () => isServing(tokens.get('admin')!),
    }),
  )
  const kubeconfigOf = async (user: ClusterUser): Promise<string> => {
    const path = join(folder, `${user.replace(':', '-')}.kubeconfig`)
    await writeFile(path, JSON.stringify(kubeconfig(files.authority, tokens.get(user)!)))
    return path
  }
  const admin = await kubeconfigOf('admin')
  const opened = opening.move()
  return { kubeconfig: admin, files, kubeconfigOf, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

function tokensOf(users: ClusterUser[]): Map<ClusterUser, string> {
  return new Map(users.map((user) => [user, randomBytes(16).toString('hex')]))
}

/** A line in the API server's format: token, name, id, groups. */
function tokenLine([user, token]: [ClusterUser, string]): string {
  const group = user === 'admin' ? 'system:masters' : user.startsWith('node:') ? 'system:nodes' : ''
  return `${token},system:${user},${user},${group}`
}

async function apiArguments(folder: string, accountKey: string, tokens: Map<ClusterUser, string>): Promise<string[]> {
  const tokenFile = join(folder, 'tokens.csv')
  await writeFile(tokenFile, [...tokens].map(tokenLine).join('\n'))
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await writeFile(accountKey, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  return Object.entries({
    'etcd-servers': ETCD_URL,
    'secure-port': API_PORT,
    'advertise-address': HOST_ADDRESS,
    'cert-dir': folder,
    'service-cluster-ip-range': SERVICE_RANGE,
    'service-account-issuer': 'https://kubernetes.default.svc',
    'service-account-key-file': accountKey,
    'service-account-signing-key-file': accountKey,
    'token-auth-file': tokenFile,
    'authorization-mode': 'Node,RBAC',
    'allow-privileged': true,
    'kubelet-preferred-address-types': 'InternalIP',
  }).map(([name, value]) => `--${name}=${value}`)
}

function isServing(token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { rejectUnauthorized: false, headers: { authorization: `Bearer ${token}` }, timeout: 1_000 }
    const sent = request(`https://${HOST_ADDRESS}:${API_PORT}/readyz`, options, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    sent.on('error', () => resolve(false)).end()
  })
}

function kubeconfig(authority: string, token: string): object {
  const name = 'prove'
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [
      { name, cluster: { server: `https://${HOST_ADDRESS}:${API_PORT}`, 'certificate-authority': authority } },
    ],
    users: [{ name, user: { token } }],
  }
}
