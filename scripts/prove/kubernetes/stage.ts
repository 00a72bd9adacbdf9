/**
 * What the chart needs in its namespace: Redis, PostgreSQL, two backends, an identity provider, volumes and secrets.
 */

import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { DEPLOY } from '../../deploy/chart.ts'
import { readManifests } from '../../deploy/validate-manifests.ts'
import type { ClusterTools } from './cluster-tools.ts'
import { HOST_ADDRESS } from './control-plane.ts'
import { imageOf, standIns } from '../engine/images.ts'
import { VERSION } from './images.ts'
import { restrictedNamespace } from './release-steps.ts'

export const NAMESPACE = 'ai'
/** Its pods may ask the edge. */
export const CLIENTS_NAMESPACE = 'clients'
const DOMAIN = `${NAMESPACE}.svc.cluster.local`
export const GATEWAY_URL = `http://gateway-model-gateway.${DOMAIN}`
/** The same Service. Clients that ask here share no connection with the clients of the whole name. */
export const SHORT_GATEWAY_URL = `http://gateway-model-gateway.${NAMESPACE}.svc`
export const ISSUER = `http://issuer.${DOMAIN}:8082`
export const BACKENDS = ['backend-a', 'backend-b']
const BACKEND_PORT = 9100
/** Of NATS and Redis. */
const VOLUMES = 4
const VOLUME_SIZE = '10Gi'
const TOKENS_PER_SECOND = 100
const FIRST_HOST = { ipBlock: { cidr: `${HOST_ADDRESS}/32` } }

export interface Stage {
  readonly databaseUrl: string
}

export async function openStage(tools: ClusterTools, state: string, node: string): Promise<Stage> {
  const password = () => randomBytes(24).toString('hex')
  const postgresPassword = password()
  const databaseUrl = `postgres://gateway:${postgresPassword}@postgres.${DOMAIN}:5432/gateway`
  const redisPassword = password()
  await tools.apply([restrictedNamespace(NAMESPACE), ...(await volumes(state, node))])
  await tools.apply([
    secret('model-gateway-redis', {
      password: redisPassword,
      url: `redis://default:${redisPassword}@redis.${DOMAIN}:6379`,
    }),
    secret('model-gateway-keys', { 'database-url': databaseUrl, 'master-secret': password() }),
    secret('model-gateway-metering', { 'database-url': databaseUrl }),
    secret(
      'model-gateway-nats',
      Object.fromEntries(
        ['edge', 'router', 'keys', 'metering', 'ctl', 'admin', 'sys', 'route'].map((user) => [user, password()]),
      ),
    ),
    ...BACKENDS.flatMap((name) =>
      server(name, BACKEND_PORT, {
        image: imageOf('development', VERSION),
        args: ['packages/stand-ins/src/backend/main.ts'],
        env: { PORT: BACKEND_PORT, HOST: '0.0.0.0', TOKENS_PER_SECOND },
      }),
    ),
    ...server('issuer', 8082, {
      image: imageOf('development', VERSION),
      args: ['packages/stand-ins/src/identity-provider/main.ts'],
      env: { PORT: 8082, HOST: '0.0.0.0', ISSUER, AUTH_AUDIENCE: GATEWAY_URL },
    }),
    ...server('postgres', 5432, {
      labels: { 'cnpg.io/cluster': 'gateway-db' },
      image: standIns.postgres,
      env: { POSTGRES_USER: 'gateway', POSTGRES_DB: 'gateway', POSTGRES_PASSWORD: postgresPassword },
      folders: ['/var/lib/postgresql', '/tmp'],
    }),
  ])
  await guardStores(tools)
  await tools.apply(
    readCompanion('redis').replace(/image: \S*redis\S*/, `image: ${standIns.redis}\n          imagePullPolicy: Never`),
    '--namespace',
    NAMESPACE,
  )
  await tools.kubectl('rollout', 'status', '--namespace', NAMESPACE, 'statefulset/redis', '--timeout=180s')
  await rolledOut(tools, [...BACKENDS, 'issuer', 'postgres'])
  return { databaseUrl }
}

/** By the policies of the companions, which say who may ask Redis and PostgreSQL. */
export async function guardStores(tools: ClusterTools): Promise<void> {
  const manifests = ['redis', 'cloudnative-pg'].flatMap((name) => readManifests(readCompanion(name)))
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy')
  await tools.apply(policies, '--namespace', NAMESPACE)
}

function readCompanion(name: string): string {
  return readFileSync(join(DEPLOY, 'companions', `${name}.yaml`), 'utf8')
}

/** Until it is disposed, the backends answer at this speed. Nobody may be asking them when it changes. */
export async function paceBackends(tools: ClusterTools, tokensPerSecond: number): Promise<AsyncDisposable> {
  const pace = async (value: number) => {
    const deployments = BACKENDS.map((name) => `deployment/${name}`)
    await tools.kubectl('set', 'env', '--namespace', NAMESPACE, ...deployments, `TOKENS_PER_SECOND=${value}`)
    await rolledOut(tools, BACKENDS)
  }
  await pace(tokensPerSecond)
  return { [Symbol.asyncDispose]: () => pace(TOKENS_PER_SECOND) }
}

async function rolledOut(tools: ClusterTools, deployments: readonly string[]): Promise<void> {
  for (const name of deployments) {
    await tools.kubectl('rollout', 'status', '--namespace', NAMESPACE, `deployment/${name}`, '--timeout=180s')
  }
}

/** The chart's values, beside those that a step sets. */
export function chartValues(): object {
  const small = { requests: { cpu: '10m', memory: '64Mi' } }
  const service = { autoscaling: { enabled: false }, resources: small }
  return {
    image: { registry: 'model-gateway', tag: VERSION, pullPolicy: 'Never' },
    publicUrl: GATEWAY_URL,
    signIn: { issuer: ISSUER },
    config: gatewayConfig(),
    nats: { image: standIns.nats, spread: 'preferred', resources: small },
    edge: service,
    router: service,
    keys: { resources: small },
    metering: { resources: small },
    monitoring: { serviceMonitor: { enabled: true } },
    ctl: { enabled: true },
    networkPolicy: {
      // The clients of the tour ask from the first host, and Prometheus reads from there.
      edgeFrom: [inNamespace(CLIENTS_NAMESPACE), FIRST_HOST],
      monitoringFrom: [inNamespace('monitoring'), FIRST_HOST],
      redis: { to: podsOf('redis') },
      database: { to: podsOf('postgres') },
      issuer: { to: podsOf('issuer') },
      backends: { to: podsOf(...BACKENDS) },
    },
  }
}

function inNamespace(name: string): object {
  return { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } }
}

function podsOf(...names: string[]): object[] {
  return [{ podSelector: { matchExpressions: [{ key: 'app', operator: 'In', values: names }] } }]
}

/** Of the models, one that a step may add. */
export function gatewayConfig(...added: string[]): object {
  const chat = (id: string) => ({ id, type: 'chat', pool: 'chat', multiplier: 1, maxOutputTokens: 8_192 })
  return {
    backends: BACKENDS.map((id) => ({
      id,
      url: `http://${id}.${DOMAIN}:${BACKEND_PORT}/v1`,
      maxConcurrent: 1_000,
      // All hosts share this machine. Where it is busy, a connection takes longer than between real ones.
      timeouts: { connectMs: 10_000 },
    })),
    pools: [{ id: 'chat', targets: BACKENDS.map((backend) => ({ backend, model: 'sim' })) }],
    models: ['chat', ...added].map(chat),
    plans: [
      { slug: 'team', limit: 1e12, rpm: 1e6, tpm: 1e9, paid: true, default: true },
      { slug: 'guest-device', limit: 1e5, rpm: 100, tpm: 1e5, perDay: 100, guest: true },
    ],
  }
}

interface ServerPlan {
  /** Beside `app`. */
  labels?: Record<string, string>
  image: string
  args?: string[]
  env: Record<string, string | number>
  /** Empty ones that it may write to. */
  folders?: string[]
}

/** A Deployment with one pod of the restricted profile, and its Service. */
function server(name: string, port: number, plan: ServerPlan): object[] {
  const { image, args, env, folders = [] } = plan
  const selector = { app: name }
  const labels = { ...plan.labels, ...selector }
  const metadata = { name, namespace: NAMESPACE }
  const volumeOf = (index: number) => `folder-${index}`
  const container = {
    name,
    image,
    imagePullPolicy: 'Never',
    ...(args && { args }),
    env: Object.entries(env).map(([variable, value]) => ({ name: variable, value: String(value) })),
    ports: [{ containerPort: port }],
    readinessProbe: { tcpSocket: { port }, periodSeconds: 1, failureThreshold: 60 },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    volumeMounts: folders.map((mountPath, index) => ({ name: volumeOf(index), mountPath })),
  }
  const spec = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { runAsNonRoot: true, runAsUser: 999, fsGroup: 999, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [container],
    volumes: folders.map((_, index) => ({ name: volumeOf(index), emptyDir: {} })),
  }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 1, selector: { matchLabels: selector }, template: { metadata: { labels }, spec } },
    },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector, ports: [{ port }] } },
  ]
}

function secret(name: string, stringData: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE }, stringData }
}

/** Nobody provisions volumes here: these wait for their claims. */
async function volumes(state: string, node: string): Promise<object[]> {
  const folders = Array.from({ length: VOLUMES }, (_, index) => join(state, 'volumes', String(index + 1)))
  for (const folder of folders) {
    mkdirSync(folder, { recursive: true })
    await chmod(folder, 0o777)
  }
  return folders.map((path, index) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `volume-${index + 1}` },
    spec: {
      capacity: { storage: VOLUME_SIZE },
      accessModes: ['ReadWriteOnce'],
      local: { path },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] },
          ],
        },
      },
    },
  }))
}
