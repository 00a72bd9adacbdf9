/**
 * A fault in words.
 */

import type { FaultAction } from './faults.ts'
import { endsOf, type LinkName, serverAt } from './places.ts'

export function describeFault(fault: FaultAction): string {
  switch (fault.kind) {
    case 'kill':
      return `kill -9 ${fault.victim}`
    case 'kill-two':
      return `kill -9 ${fault.victims.join(' and ')}`
    case 'freeze':
      return `freeze ${fault.victim} for ${seconds(fault.forMs)}`
    case 'restart':
      return `restart ${fault.victim} in good order`
    case 'cut':
      return `cut ${between(fault.link)} for ${seconds(fault.forMs)}`
    case 'mute':
      return `let nothing pass between ${between(fault.link)} for ${seconds(fault.forMs)}`
    case 'slow':
      return `slow ${between(fault.link)} by ${fault.delayMs} ms for ${seconds(fault.forMs)}`
    case 'refuse':
      return `let ${fault.backend} refuse for ${seconds(fault.forMs)}`
    case 'repeat':
      return `repeat and reorder usage reports for ${seconds(fault.forMs)}`
    case 'redis-flushed':
      return 'flush Redis'
    case 'redis-emptied':
      return 'kill Redis and take its data'
    case 'redis-old':
      return `kill Redis and give it its data of ${seconds(fault.ageMs)} ago`
    case 'commit-killed':
      return 'kill PostgreSQL between a commit and word of it'
    case 'stream-wiped':
      return 'kill NATS and take its durable stream'
    case 'disk-full':
      return `leave NATS no room on its disk for ${seconds(fault.forMs)}`
    case 'clock':
      return `set the clock of ${fault.victim} ${seconds(Math.abs(fault.byMs))} ${fault.byMs < 0 ? 'back' : 'ahead'} for ${seconds(fault.forMs)}`
    case 'lose-machine':
      return `lose ${fault.victim}, and what it had said in its last ${seconds(fault.forMs)}`
    case 'flood':
      return `flood edge-${fault.edge + 1} with strangers for ${seconds(fault.forMs)}`
    case 'poison':
      return `let one client's requests break backends (${fault.how}) at edge-${fault.edge + 1} for ${seconds(fault.forMs)}`
    case 'refused-bodies':
      return `send large bodies that are refused to edge-${fault.edge + 1} for ${seconds(fault.forMs)}`
    case 'endless':
      return `let backends answer one client of edge-${fault.edge + 1} without end for ${seconds(fault.forMs)}`
    case 'kill-claimed':
      return `kill -9 ${fault.victim} under requests with an Idempotency-Key`
    case 'failpoint':
      return `kill -9 at ${fault.point}`
    case 'one-way':
      return `lose all packets ${fault.way} on ${between(fault.link)} for ${seconds(fault.forMs)}`
    case 'lossy':
      return `lose ${Math.round(fault.share * 100)} % of packets on ${between(fault.link)} for ${seconds(fault.forMs)}`
    case 'isolate':
      return `take the host of ${fault.victim} off the network for ${seconds(fault.forMs)}`
    case 'fail-over':
      if (fault.killed) return `kill -9 the primary of ${fault.server} for ${seconds(fault.forMs)}`
      return `take the host of the primary of ${fault.server} off the network for ${seconds(fault.forMs)}`
    case 'unheard':
      return `let those who decide on it not hear the primary of redis for ${seconds(fault.forMs)}`
    case 'late':
      return `slow the primary of redis and those who decide on it by ${fault.delayMs} ms for ${seconds(fault.forMs)}`
    case 'split':
      return `leave ${fault.edge} with the former primary of redis${fault.together ? ' alone' : ''} for ${seconds(fault.forMs)}`
    case 'slow-disk':
      return `let the disk of ${fault.server} take ${fault.writesPerSecond} writes a second for ${seconds(fault.forMs)}`
    case 'switch':
      return `put the ${fault.to} version in the place of ${fault.processes.join(' and ')}`
  }
}

/** The victim of a fault: the row of the table that counts it. */
export function groupOf(fault: FaultAction): string {
  switch (fault.kind) {
    case 'kill':
    case 'freeze':
    case 'restart':
    case 'clock':
    case 'isolate':
      return `${fault.kind} ${fault.victim.replace(/-\d$/, '')}`
    case 'cut':
    case 'mute':
    case 'slow':
    case 'one-way':
    case 'lossy':
      return `${fault.kind} ${between(fault.link).replaceAll(/-\d/g, '')}`
    case 'fail-over':
      return `fail over ${fault.server}${fault.killed ? ', killed' : ''}`
    case 'unheard':
      return 'unheard primary of redis'
    case 'late':
      return 'late primary of redis'
    case 'split':
      return fault.together ? 'split redis, and its edge' : 'split redis'
    case 'slow-disk':
      return `slow disk of ${fault.server}`
    case 'failpoint':
      return `kill at ${fault.point}`
    case 'poison':
      return `poison, ${fault.how}`
    case 'refuse':
      return 'refuse backend'
    default:
      return fault.kind
  }
}

/** The processes, servers and ends of links that it may have taken away; `victim`: who died at a failpoint. */
export function affectedPlaces({ fault, victim }: { fault: FaultAction; victim: string | null }): string[] {
  if (victim !== null) return [victim]
  if ('victims' in fault) return [...fault.victims]
  if ('victim' in fault) return [serverAt(fault.victim)]
  if ('link' in fault) return endsOf(fault.link)
  if ('server' in fault) return [fault.server]
  if (fault.kind === 'split') return fault.together ? [fault.edge] : []
  if (fault.kind === 'stream-wiped' || fault.kind === 'disk-full') return ['nats']
  return fault.kind === 'commit-killed' ? ['postgres'] : []
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
const between = (link: LinkName) => endsOf(link).join(' – ')

export function losesRedisData(fault: FaultAction): boolean {
  const { kind } = fault
  if (kind === 'fail-over') return fault.server === 'redis'
  return (
    kind === 'split' ||
    kind === 'unheard' ||
    kind === 'redis-flushed' ||
    kind === 'redis-emptied' ||
    kind === 'redis-old'
  )
}

/** A clock that is set ahead forgets entries that are too old by it: of a minute's requests, and of leases. */
export function shiftsRedisTime(fault: FaultAction): boolean {
  return fault.kind === 'clock' && fault.victim === 'redis'
}

/** Returns true when Redis is away or has forgotten, for somebody at least. */
export function touchesRedis(fault: FaultAction): boolean {
  switch (fault.kind) {
    case 'kill':
    case 'freeze':
      return fault.victim === 'redis'
    case 'kill-two':
      return fault.victims.includes('redis')
    case 'cut':
    case 'mute':
    case 'slow':
    case 'one-way':
    case 'lossy':
      return endsOf(fault.link)[1] === 'redis'
    case 'isolate':
      return true
    case 'slow-disk':
      return fault.server === 'redis'
    default:
      return losesRedisData(fault)
  }
}
