/**
 * The failures that each fault allows at clients, and nothing else.
 */

import type { Seen } from '../clients/seen.ts'
import type { FaultAction } from '../plan/faults.ts'
import { endsOf, type LinkName, serverAt } from '../plan/places.ts'
import { takesFactsAway } from './alone.ts'
import type { Injected } from './facts.ts'

/** An edge that is gone takes its own clients' connections with it. */
const GONE = ['unreachable', 'cut']
/** New work is refused: it cannot be metered, or nobody can say whether it may run. */
export const UNMETERED = '503 SERVICE_UNAVAILABLE'

export function isAllowed(seen: Seen, injection: Pick<Injected, 'fault' | 'victim'>): boolean {
  const { fault, victim } = injection
  // A rotation or revocation that cannot hold everywhere is not confirmed: its owner tries again.
  if (seen.kind === 'rotate' || seen.kind === 'revoke') return true
  // A dead key that the store has forgotten is refused all the same, by one who cannot say why.
  if (seen.keyState === 'dead' && takesFactsAway(injection) && seen.problem === UNMETERED) return true
  const edge = `edge-${seen.edge + 1}`
  const problems = fault.kind === 'failpoint' ? allowedByDeath(victim ?? 'nobody', edge) : allowedBy(fault, edge, seen)
  return problems.includes(seen.problem!)
}

function allowedByDeath(victim: string, edge: string): string[] {
  if (victim === edge) return GONE
  // It takes those streams that had shown content, and each gets an error event.
  if (victim.startsWith('router')) return ['error event']
  // The gateway begins no work that it cannot meter.
  return victim === 'nats' ? [UNMETERED] : []
}

function allowedBy(fault: Exclude<FaultAction, { kind: 'failpoint' }>, edge: string, seen: Seen): string[] {
  switch (fault.kind) {
    case 'kill':
    case 'kill-claimed':
    case 'lose-machine':
      return allowedByDeath(fault.victim, edge)
    case 'kill-two':
      return [...fault.victims.flatMap((victim) => allowedByDeath(victim, edge)), UNMETERED]
    case 'freeze':
      // After three seconds of its silence its routers stop the jobs that they run for it.
      if (fault.victim === edge || fault.victim.startsWith('router')) return ['error event']
      return fault.victim === 'nats' ? [UNMETERED] : []
    case 'restart':
      // Its clients have no other here; clients with running responses get them.
      if (fault.victim !== edge) return []
      // On an open WebSocket the edge says that it stops.
      return seen.kind === 'socket' ? ['unreachable', UNMETERED] : ['unreachable']
    case 'switch':
      // The last release resets a connection whose request is still at admission a second after its edge began to stop.
      if (fault.processes.includes(edge)) return fault.to === 'present' ? GONE : ['unreachable']
      return []
    case 'cut':
    case 'mute':
    case 'slow':
    case 'one-way':
    case 'lossy':
      return allowedByLink(fault, edge, seen)
    case 'isolate':
      if (fault.victim.startsWith('router')) return ['error event']
      return fault.victim === edge || serverAt(fault.victim) === 'nats' ? [UNMETERED, 'error event'] : []
    // Until the others have a leader nothing is metered, and each client of that server has to find another.
    case 'fail-over':
      return fault.server === 'nats' ? [UNMETERED, 'error event'] : []
    // Only one that has lost more than the new primary: NATS.
    case 'split':
      return fault.together && fault.edge === edge ? [UNMETERED, 'error event'] : []
    // One that has shown content cannot be replaced.
    case 'refuse':
      return ['error event', ...allowedWithout(fault.backend, seen)]
    case 'stream-wiped':
      return [UNMETERED]
    // NATS then reads nothing more from those that publish to its stream, and serves the others. To these, edges are silent.
    case 'disk-full':
      return [UNMETERED, 'error event']
    // Strangers take nothing from those with a key, and no client takes anything from another.
    case 'flood':
    case 'poison':
    case 'refused-bodies':
    case 'endless':
    case 'repeat':
    case 'redis-flushed':
    case 'redis-emptied':
    case 'redis-old':
    case 'commit-killed':
    case 'unheard':
    case 'late':
    case 'clock':
      return []
    // The leader of the durable stream stores usage later than edges wait for.
    case 'slow-disk':
      return fault.server === 'nats' ? [UNMETERED] : []
  }
}

function allowedByLink(fault: FaultAction & { link: LinkName }, edge: string, seen: Seen): string[] {
  const [from, to] = endsOf(fault.link)
  if (to === edge && fault.kind === 'cut') return GONE
  if (fault.kind === 'slow') return []
  if (from === edge && to === 'nats') return [UNMETERED, 'error event']
  if (from.startsWith('router') && to === 'nats') return ['error event']
  if (from.startsWith('router')) return ['error event', ...allowedWithout(to, seen)]
  return []
}

/**
 * The lanes with one healthy target: `dying` has no other, and the others of `flaky` and `hostile` always break. A
 * router does not give a job to another router because the way to a backend is cut for itself alone.
 */
const LANES_OF_SOUTH_ALONE = ['dying', 'flaky', 'hostile']

/**
 * Without its only sound target a lane has nothing to give. One target of `hostile` sends empty chunks for longer than a
 * client waits. The router keeps to the last target that shows life, until the request's time is over.
 */
function allowedWithout(backend: string, { model }: Seen): string[] {
  if (backend !== 'south' || !LANES_OF_SOUTH_ALONE.includes(model)) return []
  return ['503 UPSTREAMS_EXHAUSTED', ...(model === 'hostile' ? ['hung'] : [])]
}
