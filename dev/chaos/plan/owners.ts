/**
 * The clients' accounts, on plans with and without limits that the run reaches.
 */

export type OwnerKind = 'team' | 'payg' | 'trickle' | 'thimble' | 'gusher' | 'probe'

/** Requests a minute of a `trickle`. */
export const TRICKLE_PER_MINUTE = 30
/** Allowance tokens of a `thimble`. */
export const THIMBLE_TOKENS = 1_500

/** Tokens a minute of a `gusher`, whose clients mostly leave before the end. */
export const GUSHER_TOKENS_PER_MINUTE = 3_000

/** Those with limits that they can reach send small requests. */
export const SMALL_WORDS = 40

const TEAMS = 6
/** One is used up after another. */
const REQUESTS_PER_THIMBLE = 1_000

export interface OwnerName {
  readonly kind: OwnerKind
  readonly name: string
}

/** Probes use it to see that everything works; its requests are checked like all others. */
const PROBE: OwnerName = { kind: 'probe', name: 'probe' }

export function ownersFor(requests: number): OwnerName[] {
  return [
    ...Array.from({ length: TEAMS }, (_, index) => teamOf(index)),
    { kind: 'payg', name: 'payg' },
    { kind: 'trickle', name: 'trickle' },
    { kind: 'gusher', name: 'gusher' },
    ...Array.from({ length: Math.ceil(requests / REQUESTS_PER_THIMBLE) }, (_, index) => thimbleOf(index)),
    PROBE,
  ]
}

export function nameOf(kind: OwnerKind, request: number, chosen: number): string {
  if (kind === 'team') return teamOf(chosen % TEAMS).name
  if (kind === 'thimble') return thimbleOf(Math.floor((request - 1) / REQUESTS_PER_THIMBLE)).name
  return kind
}

const teamOf = (index: number): OwnerName => ({ kind: 'team', name: `team-${index + 1}` })
const thimbleOf = (index: number): OwnerName => ({ kind: 'thimble', name: `thimble-${index + 1}` })
