/**
 * What is struck, how, and after which request: a pure function of the seed and of how much was asked for.
 */

import { chance, type Random } from './random.ts'

export const PROCESSES = ['edge-1', 'edge-2', 'router-1', 'router-2', 'keys-1', 'metering-1'] as const
export const SERVERS = ['nats', 'redis', 'postgres'] as const
export type ProcessName = (typeof PROCESSES)[number]
export type ServerName = (typeof SERVERS)[number]
export type Victim = ProcessName | ServerName
export const VICTIMS: readonly Victim[] = [...PROCESSES, ...SERVERS]

export type FaultAction = { kind: 'kill'; victim: Victim } | { kind: 'freeze'; victim: Victim; forMs: number }
export type FaultKind = FaultAction['kind']

export type PlannedFault = FaultAction & {
  /** From 1. */
  number: number
  /** It strikes when this many requests have been sent. */
  afterRequests: number
}

export interface FaultPlanOptions {
  seed: number
  requests: number
  kills: number
  /** Only these, where given. */
  only?: readonly FaultKind[] | undefined
}

/** How long each takes about, until all is well again: what the pace of requests goes by. */
export const EXPECTED_MS: Record<FaultKind, number> = { kill: 5_500, freeze: 7_500 }

/** Before the first and after the last strike. */
const CALM_SHARE = 0.04
/** As many of each other kind as there are kills, times this. */
const SHARE_OF_KILLS: Record<Exclude<FaultKind, 'kill'>, number> = { freeze: 0.36 }

export function planFaults({ seed, requests, kills, only }: FaultPlanOptions): PlannedFault[] {
  const random = chance(seed, 'faults')
  const kinds = Object.keys(EXPECTED_MS) as FaultKind[]
  const actions = kinds
    .filter((kind) => only === undefined || only.includes(kind))
    .flatMap((kind) => actionsOf(kind, kind === 'kill' ? kills : Math.ceil(kills * SHARE_OF_KILLS[kind]), random))
  const calm = Math.floor(requests * CALM_SHARE)
  const spacing = (requests - 2 * calm) / Math.max(1, actions.length)
  return random.shuffled(actions).map((action, index) => ({
    ...action,
    number: index + 1,
    afterRequests: calm + Math.floor((index + random.next() * 0.5) * spacing),
  }))
}

function actionsOf(kind: FaultKind, count: number, random: Random): FaultAction[] {
  switch (kind) {
    case 'kill':
      return inTurn(VICTIMS, count, random).map((victim) => ({ kind, victim }))
    case 'freeze':
      return inTurn(VICTIMS, count, random).map((victim) => ({ kind, victim, forMs: random.between(500, 6_000) }))
  }
}

/** Everyone once before anyone twice. */
function inTurn<T>(items: readonly T[], count: number, random: Random): T[] {
  const rounds = Array.from({ length: Math.ceil(count / items.length) }, () => random.shuffled(items))
  return rounds.flat().slice(0, count)
}

export function describeFault(fault: FaultAction): string {
  switch (fault.kind) {
    case 'kill':
      return `kill -9 ${fault.victim}`
    case 'freeze':
      return `freeze ${fault.victim} for ${(fault.forMs / 1_000).toFixed(1)} s`
  }
}
