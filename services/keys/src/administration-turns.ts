/**
 * Limits the administration calls that run at once, so that they leave connections of the pool to edges that fill keys. Callers take
 * turns. Beyond a bound, a call is refused at once. A call that ends a key has turns that no other call takes.
 *
 * A caller is a person, or an admin key that this process has proven. A made-up admin key gets no turn, from any number of addresses.
 */

import type { AdministerRequest } from '@gateway/contracts/administration/envelope'
import { GatewayError } from '@gateway/contracts/errors'
import { createFairQueue } from '@gateway/in-flight/fair-queue'

export interface AdministrationTurns {
  /** `urgent`: the call ends a key. */
  inTurn<Result>(lane: 'usual' | 'urgent', request: AdministerRequest, run: () => Promise<Result>): Promise<Result>
  /** False: the request has an admin key that this process has not proven. */
  knows(request: AdministerRequest): boolean
  /** The admin key of the request is live, or is not. */
  note(request: AdministerRequest, isLive: boolean): void
}

/** Of the pool's ten connections. */
const AT_ONCE = 4
/** Of the four connections that rotating and revoking have: they prove the caller. */
const URGENT_AT_ONCE = 2
const MOST_WAITING = 200
const MOST_PROVEN = 1_000
const RETRY_AFTER_MS = 1_000

interface Waiting {
  account: string
  run(): void
  refuse(): void
}

function openTurns(atOnce: number) {
  const queue = createFairQueue<Waiting>(MOST_WAITING, (evicted) => evicted.refuse())
  let running = 0

  function next(): void {
    const waiting = running < atOnce ? queue.take(() => true) : null
    if (!waiting) return
    running++
    waiting.run()
  }

  return async function inTurn<Result>(account: string, run: () => Promise<Result>): Promise<Result> {
    await new Promise<void>((resolve, reject) => {
      const refuse = () => reject(busy())
      if (!queue.add({ account, run: resolve, refuse })) refuse()
      next()
    })
    try {
      return await run()
    } finally {
      running--
      next()
    }
  }
}

export function openAdministrationTurns(): AdministrationTurns {
  const lanes = { usual: openTurns(AT_ONCE), urgent: openTurns(URGENT_AT_ONCE) }
  const proven = new Set<string>()

  function callerOf({ credential }: AdministerRequest): string {
    if (credential.kind === 'sign_in') return `person ${credential.issuer} ${credential.subject}`
    return credential.kind === 'admin_key' ? `admin key ${credential.hash}` : credential.kind
  }

  return {
    knows: ({ credential }) => credential.kind !== 'admin_key' || proven.has(credential.hash),
    inTurn: (lane, request, run) => lanes[lane](callerOf(request), run),
    note({ credential }, isLive) {
      if (credential.kind !== 'admin_key') return
      proven.delete(credential.hash)
      if (!isLive) return
      proven.add(credential.hash)
      if (proven.size > MOST_PROVEN) proven.delete(proven.values().next().value!)
    },
  }
}

function busy(): GatewayError {
  const sentence = 'Too many administration calls wait; try again in a second'
  return new GatewayError('SERVICE_UNAVAILABLE', sentence, { retryAfterMs: RETRY_AFTER_MS })
}
