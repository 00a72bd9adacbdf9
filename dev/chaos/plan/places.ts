/**
 * The places for faults: processes, servers, backends, and the link between any two that speak with each other.
 */

export const EDGES = ['edge-1', 'edge-2'] as const
export const PROCESSES = [...EDGES, 'router-1', 'router-2', 'keys-1', 'metering-1'] as const
export const SERVERS = ['nats', 'redis', 'postgres'] as const
/** With `--replicated`: a server, and its copies. */
export const SERVER_HOSTS = {
  nats: ['nats-1', 'nats-2', 'nats-3'],
  postgres: ['postgres-1', 'postgres-2'],
} as const
const THREE = ['redis-1', 'redis-2', 'redis-3'] as const
export const SENTINEL_HOSTS = ['sentinel-1', 'sentinel-2', 'sentinel-3'] as const
/** Redis' hosts, by `--redis`: the run promotes a copy, or Sentinels do, or a cluster of three primaries with a replica each. */
export const REDIS_HOSTS = {
  copies: THREE,
  sentinels: [...THREE, ...SENTINEL_HOSTS],
  cluster: [...THREE, 'redis-4', 'redis-5', 'redis-6'],
} as const
export type RedisForm = keyof typeof REDIS_HOSTS
export type RedisHost = Exclude<(typeof REDIS_HOSTS)[RedisForm][number], (typeof SENTINEL_HOSTS)[number]>
export type ServerHost =
  | (typeof SERVER_HOSTS)[keyof typeof SERVER_HOSTS][number]
  | (typeof REDIS_HOSTS)[RedisForm][number]
/** Redis' `min-replicas-max-lag`. */
export const MAX_LAG_SECONDS = 3
export const BACKENDS = ['north', 'south', 'bulk'] as const
export type EdgeName = (typeof EDGES)[number]
export type ProcessName = (typeof PROCESSES)[number]
export type ServerName = (typeof SERVERS)[number]
/** Servers that read libc's time, which can be given a wrong one. */
export const CLOCKED_SERVERS = ['redis', 'postgres'] as const
export type ClockedServer = (typeof CLOCKED_SERVERS)[number]
export type Backend = (typeof BACKENDS)[number]
export type Victim = ProcessName | ServerName
export const VICTIMS: readonly Victim[] = [...PROCESSES, ...SERVERS]

/** From those who connect to those who listen. */
export const LINKS = [
  'clients:edge-1',
  'clients:edge-2',
  'edge-1:nats',
  'edge-1:redis',
  'edge-2:nats',
  'edge-2:redis',
  'router-1:nats',
  'router-1:north',
  'router-1:south',
  'router-1:bulk',
  'router-2:nats',
  'router-2:north',
  'router-2:south',
  'router-2:bulk',
  'keys-1:nats',
  'keys-1:redis',
  'keys-1:postgres',
  'metering-1:nats',
  'metering-1:redis',
  'metering-1:postgres',
] as const
export type LinkName = (typeof LINKS)[number]

export function hostsOfServers(redis: RedisForm): Readonly<Record<ServerName, readonly ServerHost[]>> {
  return { ...SERVER_HOSTS, redis: REDIS_HOSTS[redis] }
}

/** The server that a host of one of its copies stands for; any other place stands for itself. */
export function serverAt(host: string): string {
  if (host.startsWith('sentinel-')) return 'redis'
  return SERVERS.find((server) => host.startsWith(`${server}-`)) ?? host
}

export function endsOf(link: LinkName): [from: string, to: string] {
  const [from = '', to = ''] = link.split(':')
  return [from, to]
}

/** Between any two steps of a request's journey, of its metering and of a change of keys: `failpoint` in the services. */
export const FAILPOINTS = [
  'edge.admitted',
  'edge.dispatched',
  'edge.response-begun',
  'edge.usage-published',
  'edge.usage-stored',
  'edge.response-ended',
  'edge.response-kept',
  'edge.response-metered',
  'router.job-accepted',
  'router.backend-called',
  'router.response-begun',
  'router.response-ended',
  'metering.reports-received',
  'metering.reports-recorded',
  'metering.store-settled',
  'keys.change-committed',
  'keys.tombstone-written',
  'keys.change-announced',
  'keys.audit-written',
  'keys.administration-committed',
] as const
export type Failpoint = (typeof FAILPOINTS)[number]
