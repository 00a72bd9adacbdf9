/**
 * The faults of a run with `--network`: packets between hosts are lost or late, and clocks are wrong. With
 * `--replicated` servers fail over, Redis is split, and disks and clocks of servers fail. Where Sentinels or a cluster
 * decide on Redis' failover, they fail more often.
 */

import { type FaultAction, inTurn, type PlannedFault, spread } from './faults.ts'
import {
  CLOCKED_SERVERS,
  EDGES,
  hostsOfServers,
  LINKS,
  PROCESSES,
  type ProcessName,
  REDIS_HOSTS,
  type RedisForm,
  type ServerHost,
  SERVERS,
} from './places.ts'
import { chance, type Random } from './random.ts'

/** For each kill in the options. */
const PARTITIONS = 1
const ONE_WAY = 1
const LOSSY = 0.5
const SLOW = 0.5
const CLOCKS = 0.5
const ISOLATED = 0.5
const FAILED_OVER = 0.75
const SPLITS = 0.5
const SLOW_DISKS = 0.75
const SERVER_CLOCKS = 0.5
const CLOCK_OFF_MS = 30_000
/** Three NATS servers elect a leader within ten seconds. */
const FAIL_OVER_MS = [4_000, 14_000] as const
/** Faults of Redis, where others decide, come as often as a kill. Half of them kill the primary. */
const DECIDED_ON = 1
const UNHEARD = 0.5
const LATE = 0.5
const DECIDE_MS = [4_000, 8_000] as const
/** Longer than a former primary takes writes. */
const SPLIT_MS = [8_000, 14_000] as const
const WRITES_PER_SECOND = [5, 30] as const

interface NetworkPlanOptions {
  seed: number
  requests: number
  kills: number
  replicated?: RedisForm | undefined
}

export function planNetworkFaults({ seed, requests, kills, replicated }: NetworkPlanOptions) {
  const random = chance(seed, 'network')
  const forMs = () => random.between(500, 6_000)
  const decides = replicated === 'sentinels' || replicated === 'cluster'
  const hosts: (readonly (ProcessName | ServerHost)[])[] = [
    PROCESSES,
    ...(replicated ? [Object.values(hostsOfServers(replicated)).flat()] : []),
  ]
  if (decides) hosts.push(REDIS_HOSTS[replicated])
  const links = (share: number) => inTurn(LINKS, Math.ceil(share * kills), random)
  const wrongByMs = () => random.pick([-CLOCK_OFF_MS, CLOCK_OFF_MS])
  const ofServers = (share: number) => (replicated ? Math.ceil(share * kills) : 0)
  const actions: FaultAction[] = [
    ...inTurn(PROCESSES, kills, random).map((victim) => ({ kind: 'kill', victim }) as const),
    ...links(PARTITIONS).map((link) => ({ kind: 'mute', link, forMs: forMs() }) as const),
    ...links(ONE_WAY).map((link) => {
      return { kind: 'one-way', link, way: random.pick(['outward', 'inward'] as const), forMs: forMs() } as const
    }),
    ...links(LOSSY).map((link) => {
      return { kind: 'lossy', link, share: random.between(10, 50) / 100, forMs: forMs() } as const
    }),
    ...links(SLOW).map((link) => ({ kind: 'slow', link, delayMs: random.between(20, 200), forMs: forMs() }) as const),
    ...inTurn(PROCESSES, Math.ceil(CLOCKS * kills), random).map((victim) => {
      return { kind: 'clock', victim, byMs: wrongByMs(), forMs: forMs() } as const
    }),
    ...hosts
      .flatMap((some) => inTurn(some, Math.ceil(ISOLATED * kills), random))
      .map((victim) => {
        return { kind: 'isolate', victim, forMs: forMs() } as const
      }),
    ...inTurn(decides ? OTHER_SERVERS : SERVERS, ofServers(FAILED_OVER), random).map((server) => {
      return { kind: 'fail-over', server, forMs: random.between(...FAIL_OVER_MS) } as const
    }),
    ...inTurn([false, true], ofServers(decides ? DECIDED_ON : SPLITS), random).map((together) => {
      return { kind: 'split', edge: random.pick(EDGES), together, forMs: random.between(...SPLIT_MS) } as const
    }),
    ...inTurn(SERVERS, ofServers(SLOW_DISKS), random).map((server) => {
      return {
        kind: 'slow-disk',
        server,
        writesPerSecond: random.between(...WRITES_PER_SECOND),
        forMs: forMs(),
      } as const
    }),
    ...inTurn(CLOCKED_SERVERS, ofServers(SERVER_CLOCKS), random).map((victim) => {
      return { kind: 'clock', victim, byMs: wrongByMs(), forMs: forMs() } as const
    }),
    ...(decides ? decidedOn(kills, random) : []),
  ]
  return spread(random.shuffled(actions), requests, random) satisfies PlannedFault[]
}

const OTHER_SERVERS = SERVERS.filter((server) => server !== 'redis')

/** Faults after which Sentinels or the cluster decide on a failover of Redis, or must not. */
function decidedOn(kills: number, random: Random): FaultAction[] {
  const forMs = () => random.between(...DECIDE_MS)
  const several = <T>(share: number, make: () => T) => Array.from({ length: Math.ceil(share * kills) }, make)
  return [
    ...inTurn([true, false], Math.ceil(DECIDED_ON * kills), random).map((killed): FaultAction => {
      return { kind: 'fail-over', server: 'redis', ...(killed && { killed }), forMs: forMs() }
    }),
    ...several(UNHEARD, (): FaultAction => ({ kind: 'unheard', forMs: forMs() })),
    ...several(LATE, (): FaultAction => ({ kind: 'late', delayMs: random.between(50, 200), forMs: forMs() })),
  ]
}
