/**
 * The processes of a local cluster, the order in which they stop, and the environment of each. Pure: ports are given.
 */

import { join } from 'node:path'
import { SIMULATED_BACKEND_VARIABLE } from '@gateway/contracts/default-config'
import type { ProcessPlan } from './supervise.ts'

/** A local cluster as its caller wants it. */
export interface ClusterShape {
  edges: number
  routers: number
  /** Processes of keys and of metering each; one when left out. */
  keepers?: number
  dataDir: string
  /** edge-1's; 0 takes a free one. */
  port?: number
  host?: string
  /** Added to every service's environment: `GATEWAY_CONFIG`, `DRAIN_MS`, … */
  environment?: NodeJS.ProcessEnv
}

export interface PlanFacts extends ClusterShape {
  logDir: string
  /** The identity provider's; one of `ports` when undefined. */
  issuerPort: number | undefined
  /** Free ports to hand out: two a process. */
  ports: number[]
  urls: { nats: string; redis: string; postgres: string }
  /** By service, where the broker checks who connects. */
  natsPasswords: Record<string, string> | undefined
  masterSecret: string
}

export interface ClusterPlan {
  /** Stopped in reverse: those that others need go last. */
  waves: ProcessPlan[][]
  issuer: string
  backendUrl: string
}

export function planProcesses(facts: PlanFacts): ClusterPlan {
  const { host = '127.0.0.1', keepers = 1, urls, natsPasswords } = facts
  const ports = facts.ports.values()
  const nextPort = () => ports.next().value ?? 0
  const at = (port: number) => `http://127.0.0.1:${port}`

  const publicPort = facts.port || nextPort()
  const given = { ...process.env, ...facts.environment }
  const publicUrl = given['PUBLIC_BASE_URL'] || at(publicPort)
  const backendPort = nextPort()
  const issuerPort = facts.issuerPort ?? nextPort()
  const issuer = given['AUTH_ISSUER'] || at(issuerPort)
  const backendUrl = `${at(backendPort)}/v1`
  const shared: NodeJS.ProcessEnv = {
    ...given,
    REDIS_URL: urls.redis,
    DATABASE_URL: urls.postgres,
    PUBLIC_BASE_URL: publicUrl,
    AUTH_ISSUER: issuer,
    EDGE_REPLICAS_MAX: given['EDGE_REPLICAS_MAX'] || String(facts.edges),
    DATA_DIR: facts.dataDir,
  }

  const logFile = (name: string) => join(facts.logDir, `${name}.log`)

  function fixture(
    name: string,
    script: string,
    port: number,
    readyPath: string,
    environment: NodeJS.ProcessEnv,
  ): ProcessPlan {
    const url = at(port)
    return {
      name,
      service: name,
      script,
      environment: { ...given, ...environment, PORT: String(port), HOST: '127.0.0.1', DATA_DIR: facts.dataDir },
      url,
      healthUrl: url,
      readyPath,
      logFile: logFile(name),
    }
  }

  function service(kind: string, index: number, port: number, environment: NodeJS.ProcessEnv = {}): ProcessPlan {
    const healthPort = nextPort()
    const name = `${kind}-${index}`
    const health = at(healthPort)
    return {
      name,
      service: kind,
      script: `services/${kind}/src/main.ts`,
      environment: {
        ...shared,
        ...environment,
        NATS_URL: natsUrl(urls.nats, kind, natsPasswords?.[kind]),
        PORT: String(port),
        HOST: host,
        HEALTH_PORT: String(healthPort),
      },
      url: kind === 'edge' ? at(port) : health,
      healthUrl: health,
      readyPath: '/readyz',
      logFile: logFile(name),
    }
  }

  const many = (count: number, plan: (index: number) => ProcessPlan) =>
    Array.from({ length: count }, (_, index) => plan(index + 1))
  const fixtures = [fixture('backend', 'packages/stand-ins/src/backend/main.ts', backendPort, '/health', {})]
  if (!given['AUTH_ISSUER']) {
    const script = 'packages/stand-ins/src/identity-provider/main.ts'
    const discovery = '/.well-known/openid-configuration'
    fixtures.push(
      fixture('identity-provider', script, issuerPort, discovery, {
        AUTH_AUDIENCE: given['AUTH_AUDIENCE'] || publicUrl,
      }),
    )
  }
  return {
    issuer,
    backendUrl,
    waves: [
      fixtures,
      many(keepers, (index) => service('metering', index, nextPort())).concat(
        many(keepers, (index) => service('keys', index, nextPort(), { KEYS_MASTER_SECRET: facts.masterSecret })),
      ),
      many(facts.routers, (index) =>
        service('router', index, nextPort(), { [SIMULATED_BACKEND_VARIABLE]: backendUrl }),
      ),
      many(facts.edges, (index) => service('edge', index, index === 1 ? publicPort : nextPort())),
    ],
  }
}

function natsUrl(server: string, user: string, password: string | undefined): string {
  return password === undefined ? server : server.replace('://', `://${user}:${password}@`)
}
