/**
 * The clients' accounts, on plans with and without limits that the run reaches.
 */

import { PROJECT_OWNER_KINDS, type ProjectOwnerKind, projectOwnerNameOf, REQUESTS_PER_ALLOWANCE } from './projects.ts'

/** People, with a developer key each. */
export type PersonKind = 'team' | 'payg' | 'trickle' | 'thimble' | 'gusher' | 'probe'
export type OwnerKind = PersonKind | ProjectOwnerKind

/** Requests a minute of a `trickle`. */
export const TRICKLE_PER_MINUTE = 30
/** Allowance tokens of a `thimble`. */
export const THIMBLE_TOKENS = 1_500

/** Tokens a minute of a `gusher`, whose clients mostly leave before the end. */
export const GUSHER_TOKENS_PER_MINUTE = 3_000

/** Those with limits that they can reach send small requests. */
export const SMALL_WORDS = 40

const TEAMS = 6

export interface OwnerName {
  readonly kind: PersonKind
  readonly name: string
}

/** Probes use it to see that everything works; its requests are checked like all others. */
const PROBE: OwnerName = { kind: 'probe', name: 'probe' }

/** Of hostile clients alone: an edge makes their account wait for the time that it took. */
export const HOSTILE: OwnerName = { kind: 'team', name: 'hostile' }

export function ownersFor(requests: number): OwnerName[] {
  return [
    ...Array.from({ length: TEAMS }, (_, index) => teamOf(index)),
    { kind: 'payg', name: 'payg' },
    { kind: 'trickle', name: 'trickle' },
    { kind: 'gusher', name: 'gusher' },
    ...Array.from({ length: Math.ceil(requests / REQUESTS_PER_ALLOWANCE) }, (_, index) => thimbleOf(index)),
    PROBE,
    HOSTILE,
  ]
}

export function nameOf(kind: Exclude<OwnerKind, 'passing'>, request: number, chosen: number): string {
  if (kind === 'team') return teamOf(chosen % TEAMS).name
  if (kind === 'thimble') return thimbleOf(Math.floor((request - 1) / REQUESTS_PER_ALLOWANCE)).name
  return isPerson(kind) ? kind : projectOwnerNameOf(kind, request, chosen)
}

export function isPerson(kind: OwnerKind): kind is PersonKind {
  return !(PROJECT_OWNER_KINDS as readonly string[]).includes(kind)
}

const teamOf = (index: number): OwnerName => ({ kind: 'team', name: `team-${index + 1}` })
const thimbleOf = (index: number): OwnerName => ({ kind: 'thimble', name: `thimble-${index + 1}` })
