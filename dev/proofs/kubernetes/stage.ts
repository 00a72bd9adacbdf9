/**
 * The chart's environment in its namespace: Redis, PostgreSQL, two backends, an identity provider and secrets.
 */

import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEPLOY } from '../../../scripts/deploy/chart.ts'
import { readManifests } from '../../../scripts/deploy/validate-manifests.ts'
import { type Addresses, type Cluster, type ClusterImages, imageOf } from './cluster.ts'
import type { ClusterTools } from './cluster-tools.ts'
import { restrictedNamespace } from './release-steps.ts'

export const NAMESPACE = 'model-gateway-proof'
/** Its pods may call the edge. */
export const CLIENTS_NAMESPACE = 'model-gateway-proof-clients'
const DOMAIN = `${NAMESPACE}.svc.cluster.local`
export const GATEWAY_URL = `http://gateway-model-gateway.${DOMAIN}`
/** The same Service. Clients of this address share no connection with the clients of the whole name. */
export const SHORT_GATEWAY_URL = `http://gateway-model-gateway.${NAMESPACE}.svc`
export const ISSUER = `http://issuer.${DOMAIN}:8082`
export const BACKENDS = ['backend-a', 'backend-b']
export const ISSUER_PORT = 8082
export const DATABASE_PORT = 5432
const BACKEND_PORT = 9100
const TOKENS_PER_SECOND = 100

export interface Stage {
  /** For this process. */
  readonly databaseUrl: string
}

/** For a process that reaches Services by their names. */
export const namesOfServices: Addresses = {
  gateway: GATEWAY_URL,
  issuer: ISSUER,
  database: `postgres.${DOMAIN}:${DATABASE_PORT}`,
}

export async function openStage({ tools, images, addresses }: Cluster): Promise<Stage> {
  const password = () => randomBytes(24).toString('hex')
  const postgresPassword = password()
  const databaseAt = (place: string) => `postgres://gateway:${postgresPassword}@${place}/gateway`
  const databaseUrl = databaseAt(namesOfServices.database)
  const redisPassword = password()
  const serve = (name: string, port: number, plan: ServerPlan) => server(name, port, plan, images.pullPolicy)
  await tools.apply([restrictedNamespace(NAMESPACE)])
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
      serve(name, BACKEND_PORT, {
        image: imageOf(images, 'development'),
        args: ['packages/stand-ins/src/backend/main.ts'],
        env: { PORT: BACKEND_PORT, HOST: '0.0.0.0', TOKENS_PER_SECOND },
      }),
    ),
    ...serve('issuer', ISSUER_PORT, {
      image: imageOf(images, 'development'),
      args: ['packages/stand-ins/src/identity-provider/main.ts'],
      env: {
        PORT: ISSUER_PORT,
        HOST: '0.0.0.0',
        ISSUER,
        AUTH_AUDIENCE: GATEWAY_URL,
        CONSOLE_URL: `${addresses.gateway}/console`,
      },
    }),
    ...serve('postgres', DATABASE_PORT, {
      labels: { 'cnpg.io/cluster': 'gateway-db' },
      image: images.postgres,
      env: { POSTGRES_USER: 'gateway', POSTGRES_DB: 'gateway', POSTGRES_PASSWORD: postgresPassword },
      folders: ['/var/lib/postgresql', '/var/run/postgresql', '/tmp'],
    }),
  ])
  await guardStores(tools)
  await tools.apply(redisManifest(images), '--namespace', NAMESPACE)
  await tools.kubectl('rollout', 'status', '--namespace', NAMESPACE, 'statefulset/redis', '--timeout=180s')
  await rolledOut(tools, [...BACKENDS, 'issuer', 'postgres'])
  return { databaseUrl: databaseAt(addresses.database) }
}

function redisManifest({ redis, pullPolicy }: ClusterImages): string {
  const manifest = readCompanion('redis')
  if (redis === undefined) return manifest
  return manifest.replace(/image: \S*redis\S*/, `image: ${redis}\n          imagePullPolicy: ${pullPolicy}`)
}

/** By the policies of the companions, which name the permitted callers of Redis and PostgreSQL. */
export async function guardStores(tools: ClusterTools): Promise<void> {
  const manifests = ['redis', 'cloudnative-pg'].flatMap((name) => readManifests(readCompanion(name)))
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy')
  await tools.apply(policies, '--namespace', NAMESPACE)
}

function readCompanion(name: string): string {
  return readFileSync(join(DEPLOY, 'companions', `${name}.yaml`), 'utf8')
}

/** Until it is disposed, the backends respond at this speed. Nobody may call them when it changes. */
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
export function chartValues({ images, machine }: Cluster): object {
  const small = { requests: { cpu: '10m', memory: '64Mi' } }
  const service = { autoscaling: { enabled: false }, resources: small }
  // The clients of the tour send from the machine, and Prometheus reads from there.
  const host = machine ? [{ ipBlock: { cidr: `${machine.address}/32` } }] : []
  return {
    image: { registry: images.registry, tag: images.tag, pullPolicy: images.pullPolicy },
    publicUrl: GATEWAY_URL,
    signIn: { issuer: ISSUER },
    config: gatewayConfig(),
    nats: { ...(images.nats && { image: images.nats }), spread: 'preferred', resources: small },
    edge: service,
    router: service,
    keys: { resources: small },
    metering: { resources: small },
    monitoring: { serviceMonitor: { enabled: machine !== undefined } },
    ctl: { enabled: true },
    networkPolicy: {
      edgeFrom: [inNamespace(CLIENTS_NAMESPACE), ...host],
      monitoringFrom: [inNamespace('monitoring'), ...host],
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

/** The configuration of the gateway, with the models that a step adds. */
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
function server(name: string, port: number, plan: ServerPlan, imagePullPolicy: string): object[] {
  const { image, args, env, folders = [] } = plan
  const selector = { app: name }
  const labels = { ...plan.labels, ...selector }
  const metadata = { name, namespace: NAMESPACE }
  const volumeOf = (index: number) => `folder-${index}`
  const container = {
    name,
    image,
    imagePullPolicy,
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
