/**
 * The faults, their kinds, and the requests after which they come: a pure function of the seed and of the options.
 */

import { chance, type Random } from './random.ts'
import {
  type Backend,
  BACKENDS,
  type ClockedServer,
  type EdgeName,
  EDGES,
  type Failpoint,
  FAILPOINTS,
  type LinkName,
  LINKS,
  type ProcessName,
  PROCESSES,
  type ServerHost,
  type ServerName,
  type Victim,
  VICTIMS,
} from './places.ts'

export type FaultAction =
  /** SIGKILL. */
  | { kind: 'kill'; victim: Victim }
  /** Two at once. Nothing is lost then either, but a client may be refused. */
  | { kind: 'kill-two'; victims: readonly [Victim, Victim] }
  /** SIGSTOP, and SIGCONT after a time. */
  | { kind: 'freeze'; victim: Victim; forMs: number }
  /** SIGTERM: it leaves in its own orderly way and is started again. */
  | { kind: 'restart'; victim: ProcessName }
  /** Every connection is reset and none is accepted. */
  | { kind: 'cut'; link: LinkName; forMs: number }
  /** Connections stay, and nothing passes. */
  | { kind: 'mute'; link: LinkName; forMs: number }
  /** All that passes takes longer, each way. */
  | { kind: 'slow'; link: LinkName; forMs: number; delayMs: number }
  /** An inference backend is away. */
  | { kind: 'refuse'; backend: Backend; forMs: number }
  /** Usage reports are published again, late, in another order, and as a router would report them. */
  | { kind: 'repeat'; forMs: number }
  | { kind: 'redis-flushed' }
  /** Killed, and started again with nothing. */
  | { kind: 'redis-emptied' }
  /** Killed, and started again with its data of some seconds before. */
  | { kind: 'redis-old'; ageMs: number }
  /** PostgreSQL is killed between the commit of a batch and word of it. */
  | { kind: 'commit-killed' }
  /** The broker is killed, and started again without its durable stream. */
  | { kind: 'stream-wiped' }
  /** The broker's disk is full; it is started again when there is space. */
  | { kind: 'disk-full'; forMs: number }
  /** The clock of a process, or of a server's primary, is wrong. */
  | { kind: 'clock'; victim: ProcessName | ClockedServer; byMs: number; forMs: number }
  /**
   * The broker does not receive from an edge with running responses any more, though the edge receives. Then the edge
   * dies, and its messages with it.
   */
  | { kind: 'lose-machine'; victim: EdgeName; forMs: number }
  /** Strangers flood an edge as fast as they can: made-up keys, new devices, large bodies that never end. */
  | { kind: 'flood'; edge: 0 | 1; forMs: number }
  /** One client's requests break whichever backend gets them, again and again. */
  | { kind: 'poison'; how: Poison; edge: 0 | 1; forMs: number }
  /** One client sends large bodies, which are refused once they have been read. */
  | { kind: 'refused-bodies'; edge: 0 | 1; forMs: number }
  /** Backends respond to one client without end, in spite of the cap in its request. */
  | { kind: 'endless'; edge: 0 | 1; forMs: number }
  /** SIGKILL of an edge that runs requests with an `Idempotency-Key`, whose clients repeat them. */
  | { kind: 'kill-claimed'; victim: EdgeName }
  /** The next process to come to this point of its work is dead there. */
  | { kind: 'failpoint'; point: Failpoint }
  /** Packets one way between two hosts are lost. */
  | { kind: 'one-way'; link: LinkName; way: 'outward' | 'inward'; forMs: number }
  /** Some packets between two hosts are lost, each way. */
  | { kind: 'lossy'; link: LinkName; share: number; forMs: number }
  /** A host is off the network. */
  | { kind: 'isolate'; victim: ProcessName | ServerHost; forMs: number }
  /**
   * The host of a server's primary, or of the durable stream's leader, is off the network, and a copy takes its place.
   * `killed`: the server dies instead.
   */
  | { kind: 'fail-over'; server: ServerName; killed?: true; forMs: number }
  /** Those who decide whether Redis' primary is lost do not hear it. Everybody else does. */
  | { kind: 'unheard'; forMs: number }
  /** Packets between Redis' primary and those who decide whether it is lost take longer, each way. */
  | { kind: 'late'; delayMs: number; forMs: number }
  /**
   * Redis' primary is off the network but for one edge, which does not hear of the promotion of a copy. `together`: that
   * edge hears nobody else either.
   */
  | { kind: 'split'; edge: EdgeName; together: boolean; forMs: number }
  /** The disk of a server's primary takes few writes a second. */
  | { kind: 'slow-disk'; server: ServerName; writesPerSecond: number; forMs: number }
  /** Processes leave in good order, and the other version takes their places. Planned by the skew test alone. */
  | { kind: 'switch'; processes: readonly string[]; to: VersionName }

/** The last release, or this checkout. */
export type VersionName = 'former' | 'present'

/** The ways in which a backend breaks on a poisoned request: by a 500, by a cut response, by a closed connection. */
export const POISONS = ['status', 'json', 'drop'] as const
export type Poison = (typeof POISONS)[number]

/** Those that need a stage of their own: `network-faults.ts`, and the skew test. */
type SpecialKind = 'one-way' | 'lossy' | 'isolate' | 'fail-over' | 'unheard' | 'late' | 'split' | 'slow-disk' | 'switch'
export type FaultKind = Exclude<FaultAction['kind'], SpecialKind>

export type PlannedFault = FaultAction & {
  /** From 1. */
  number: number
  /** It is injected when this many requests have been sent. */
  afterRequests: number
}

export interface FaultPlanOptions {
  seed: number
  requests: number
  kills: number
  /** Only these, where given. */
  only?: readonly FaultKind[] | undefined
}

/** The usual time until all is well again, which sets the pace of requests; and how many there are for a kill. */
export const KINDS: Record<FaultKind, { expectedMs: number; perKill: number }> = {
  kill: { expectedMs: 4_500, perKill: 1 },
  'kill-two': { expectedMs: 6_000, perKill: 0.08 },
  freeze: { expectedMs: 6_500, perKill: 0.16 },
  restart: { expectedMs: 4_500, perKill: 0.24 },
  cut: { expectedMs: 4_500, perKill: 0.12 },
  mute: { expectedMs: 4_500, perKill: 0.12 },
  slow: { expectedMs: 4_000, perKill: 0.08 },
  refuse: { expectedMs: 3_000, perKill: 0.06 },
  repeat: { expectedMs: 4_000, perKill: 0.08 },
  'redis-flushed': { expectedMs: 1_500, perKill: 0.04 },
  'redis-emptied': { expectedMs: 5_000, perKill: 0.04 },
  'redis-old': { expectedMs: 8_000, perKill: 0.04 },
  'commit-killed': { expectedMs: 7_000, perKill: 0.06 },
  'stream-wiped': { expectedMs: 6_000, perKill: 0.04 },
  'disk-full': { expectedMs: 9_000, perKill: 0.04 },
  clock: { expectedMs: 5_000, perKill: 0.08 },
  'lose-machine': { expectedMs: 5_500, perKill: 0.06 },
  flood: { expectedMs: 4_000, perKill: 0.12 },
  failpoint: { expectedMs: 4_500, perKill: 0.4 },
  poison: { expectedMs: 4_000, perKill: 0.12 },
  'refused-bodies': { expectedMs: 4_000, perKill: 0.06 },
  endless: { expectedMs: 4_000, perKill: 0.06 },
  'kill-claimed': { expectedMs: 10_000, perKill: 0.12 },
}

const SPECIAL_MS: Record<SpecialKind, number> = {
  'one-way': 5_500,
  lossy: 5_500,
  isolate: 6_500,
  'fail-over': 18_000,
  unheard: 18_000,
  late: 5_000,
  split: 18_000,
  'slow-disk': 8_000,
  switch: 3_000,
}

export function expectedMsOf({ kind }: FaultAction): number {
  return kind in SPECIAL_MS ? SPECIAL_MS[kind as SpecialKind] : KINDS[kind as FaultKind].expectedMs
}

/** Before the first and after the last fault. */
const CALM_SHARE = 0.04
const HOUR_MS = 3_600_000

export function planFaults({ seed, requests, kills, only }: FaultPlanOptions): PlannedFault[] {
  const random = chance(seed, 'faults')
  const kinds = Object.keys(KINDS) as FaultKind[]
  const actions = kinds
    .filter((kind) => only === undefined || only.includes(kind))
    .flatMap((kind) => actionsOf(kind, howMany(KINDS[kind].perKill * kills, random), random))
  return spread(random.shuffled(actions), requests, random)
}

export function spread(actions: readonly FaultAction[], requests: number, random: Random): PlannedFault[] {
  const calm = Math.floor(requests * CALM_SHARE)
  const spacing = (requests - 2 * calm) / Math.max(1, actions.length)
  return actions.map((action, index) => ({
    ...action,
    number: index + 1,
    afterRequests: calm + Math.floor((index + random.next() * 0.5) * spacing),
  }))
}

/** A run with few kills has some of the other kinds, and each seed others. */
function howMany(expected: number, random: Random): number {
  const complete = Math.floor(expected)
  return complete + (random.next() < expected - complete ? 1 : 0)
}

function actionsOf(kind: FaultKind, count: number, random: Random): FaultAction[] {
  const forMs = () => random.between(500, 6_000)
  const edge = () => random.pick([0, 1] as const)
  const several = (make: () => FaultAction) => Array.from({ length: count }, make)
  switch (kind) {
    case 'kill':
      return inTurn(VICTIMS, count, random).map((victim) => ({ kind, victim }))
    case 'kill-two':
      return several(() => ({ kind, victims: random.shuffled(VICTIMS).slice(0, 2) as [Victim, Victim] }))
    case 'freeze':
      return inTurn(VICTIMS, count, random).map((victim) => ({ kind, victim, forMs: forMs() }))
    case 'restart':
      return inTurn(PROCESSES, count, random).map((victim) => ({ kind, victim }))
    case 'cut':
    case 'mute':
      return inTurn(LINKS, count, random).map((link) => ({ kind, link, forMs: forMs() }))
    case 'slow':
      return inTurn(LINKS, count, random).map((link) => ({
        kind,
        link,
        forMs: forMs(),
        delayMs: random.between(20, 400),
      }))
    case 'refuse':
      return inTurn(BACKENDS, count, random).map((backend) => ({ kind, backend, forMs: forMs() }))
    case 'clock':
      return inTurn(PROCESSES, count, random).map((victim) => {
        return { kind, victim, byMs: random.pick([-HOUR_MS, HOUR_MS]), forMs: forMs() }
      })
    case 'failpoint':
      return inTurn(FAILPOINTS, count, random).map((point) => ({ kind, point }))
    case 'lose-machine':
      return inTurn(EDGES, count, random).map((victim) => ({ kind, victim, forMs: random.between(1_000, 2_000) }))
    case 'flood':
      return several(() => ({ kind, edge: edge(), forMs: forMs() }))
    case 'poison':
      return inTurn(POISONS, count, random).map((how) => ({ kind, how, edge: edge(), forMs: forMs() }))
    case 'refused-bodies':
    case 'endless':
      // Long enough to show.
      return several(() => ({ kind, edge: edge(), forMs: random.between(3_000, 6_000) }))
    case 'kill-claimed':
      return inTurn(EDGES, count, random).map((victim) => ({ kind, victim }))
    case 'repeat':
    case 'disk-full':
      return several(() => ({ kind, forMs: forMs() }))
    case 'redis-old':
      return several(() => ({ kind, ageMs: random.between(500, 5_000) }))
    case 'redis-flushed':
    case 'redis-emptied':
    case 'commit-killed':
    case 'stream-wiped':
      return several(() => ({ kind }))
  }
}

/** Everyone once before anyone twice. */
export function inTurn<T>(items: readonly T[], count: number, random: Random): T[] {
  const rounds = Array.from({ length: Math.ceil(count / items.length) }, () => random.shuffled(items))
  return rounds.flat().slice(0, count)
}
