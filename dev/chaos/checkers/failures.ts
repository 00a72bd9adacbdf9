/**
 * No avoidable failure: while a healthy target and a living path of processes exist, clients get their responses.
 * `allowances.ts` lists the failures that a fault allows; any other is a violation.
 */

import type { Seen } from '../clients/seen.ts'
import { isPerson, type OwnerKind } from '../plan/owners.ts'
import { REFUSED_FOR } from '../plan/projects.ts'
import { takesFactsAway, wasItsEdgeAlone } from './alone.ts'
import { isAllowed, UNMETERED } from './allowances.ts'
import type { Facts, Injected, Verdict } from './facts.ts'

export interface Failure {
  seen: Seen
  problem: string
  /** The fault that allows it. */
  allowedBy: Injected | null
  /** Not by itself: its edge had found Redis too slow as well, because the machine was busy. */
  isStarved: boolean
}

/** A request that began just before a fault has healed may still end because of it. */
const AFTERMATH_MS = 1_000

export function findFailures(facts: Facts): Failure[] {
  const kinds = new Map(facts.owners.map(({ name, kind }) => [name, kind]))
  return facts.seen
    .filter((seen) => seen.problem !== null && !isRight(seen, kinds.get(seen.owner)))
    .filter((seen) => !isShedByLastRelease(seen, facts.injected))
    .map((seen) => ({ seen, problem: seen.problem!, ...allowanceFor(seen, facts) }))
}

export function checkFailures(facts: Facts, failures: Failure[]): Verdict {
  return {
    invariant: 'no avoidable failure reaches a client',
    checked: facts.seen.length,
    violations: failures
      .filter(({ allowedBy }) => allowedBy === null)
      .map(({ seen, problem }) => ({
        requests: [`${seen.id} ${seen.requestId}`],
        what: `${seen.kind} of ${seen.model} at edge-${seen.edge + 1}: ${problem}: ${seen.detail.slice(0, 200)}`,
      })),
  }
}

/** The right response to this client, under any fault. */
function isRight({ problem, keyState, kind, model, errorEvent }: Seen, owner: OwnerKind | undefined): boolean {
  // One that is repeated until it gets its response has a checker of its own.
  if (kind === 'probe' || kind === 'repeating') return true
  if (keyState !== 'alive' && (problem === '401 INVALID_KEY' || errorEvent === 'INVALID_KEY')) return true
  if (owner === 'trickle' && problem === '429 requests') return true
  if (owner === 'gusher' && problem === '429 tokens') return true
  if (owner === 'thimble' && (problem === '402 quota_exceeded' || problem === '429 pending')) return true
  if (owner !== undefined && !isPerson(owner) && REFUSED_FOR[owner].includes(problem!)) return true
  return model === 'dying' && problem === 'error event'
}

/** The edge of release 0.1.0 refuses the few requests that it has when others starve its machine. */
function isShedByLastRelease(seen: Seen, injected: readonly Injected[]): boolean {
  if (seen.problem !== UNMETERED || !seen.detail.includes('The gateway is overloaded')) return false
  const switches = injected.flatMap(({ fault, injectedAtMs, healedAtMs }) =>
    fault.kind === 'switch' ? [{ ...fault, injectedAtMs, healedAtMs: healedAtMs ?? Infinity }] : [],
  )
  // A run with switches begins on the last release.
  if (switches.length === 0) return false
  const ofItsEdge = switches.filter(({ processes }) => processes.includes(`edge-${seen.edge + 1}`))
  const last = ofItsEdge.findLast(({ injectedAtMs }) => injectedAtMs <= seen.endedAtMs)
  return last?.to !== 'present' || last.healedAtMs > seen.sentAtMs
}

function allowanceFor(seen: Seen, facts: Facts): Pick<Failure, 'allowedBy' | 'isStarved'> {
  const around = facts.injected.filter(
    ({ injectedAtMs, healedAtMs }) =>
      seen.endedAtMs >= injectedAtMs && seen.sentAtMs <= (healedAtMs ?? Infinity) + AFTERMATH_MS,
  )
  const allowedBy = around.find((injection) => isAllowed(seen, injection))
  if (allowedBy) return { allowedBy, isStarved: false }
  // Redis too slow and keys dead are two faults at once, as in `kill-two`.
  const isAlone = seen.problem === UNMETERED && wasItsEdgeAlone(facts, seen)
  const second = isAlone ? around.find(takesFactsAway) : undefined
  return { allowedBy: second ?? null, isStarved: second !== undefined }
}
