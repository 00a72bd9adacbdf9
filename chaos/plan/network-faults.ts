/**
 * The faults of a run with `--network`: packets are lost between hosts, in one way or both, some or all.
 */

import { type FaultAction, inTurn, type PlannedFault, spread } from './faults.ts'
import { LINKS, PROCESSES } from './places.ts'
import { chance } from './random.ts'

/** For each kill that is asked for. */
const PARTITIONS = 1
const ONE_WAY = 1
const LOSSY = 0.5
const ISOLATED = 0.5

export function planNetworkFaults({ seed, requests, kills }: { seed: number; requests: number; kills: number }) {
  const random = chance(seed, 'network')
  const forMs = () => random.between(500, 6_000)
  const links = (share: number) => inTurn(LINKS, Math.ceil(share * kills), random)
  const actions: FaultAction[] = [
    ...inTurn(PROCESSES, kills, random).map((victim) => ({ kind: 'kill', victim }) as const),
    ...links(PARTITIONS).map((link) => ({ kind: 'mute', link, forMs: forMs() }) as const),
    ...links(ONE_WAY).map((link) => {
      return { kind: 'one-way', link, way: random.pick(['outward', 'inward'] as const), forMs: forMs() } as const
    }),
    ...links(LOSSY).map((link) => {
      return { kind: 'lossy', link, share: random.between(10, 50) / 100, forMs: forMs() } as const
    }),
    ...inTurn(PROCESSES, Math.ceil(ISOLATED * kills), random).map((victim) => {
      return { kind: 'isolate', victim, forMs: forMs() } as const
    }),
  ]
  return spread(random.shuffled(actions), requests, random) satisfies PlannedFault[]
}
