/**
 * Ends of requests that travel with their account's next admission, which saves a call of their own.
 *
 * For the store, a held end means a request that ran up to {@link HOLD_MS} longer. Its reservation stays so much longer,
 * so no limit leaks. It could only refuse a request that would else pass. So the edge sends an end at once where the account is
 * near a limit, or sent no request lately. An edge that dies leaves the reservation to the ledger or to its lease, as it does
 * with running requests.
 */

import type { AdmitDecision, EdgeAdmission, RequestEnd } from '@gateway/admission/port'
import type { Logger } from '@gateway/telemetry/logger'

const HOLD_MS = 100
/** The edge sends an end on the last look within its time. */
const LOOK_EVERY_MS = 25
/** Other edges may use the account up meanwhile. */
const FAR_FROM_LIMITS_FOR_MS = 5_000
/** Forgetting an account costs a call at its next end. */
const MAX_ACCOUNTS = 100_000
/** One call carries them all. */
const MAX_ENDS = 100

interface Held {
  ends: RequestEnd[]
  sinceMs: number
}

/** Disposing sends the held ends. */
export function batchReleases(store: EdgeAdmission, logger: Logger): EdgeAdmission & AsyncDisposable {
  /** Accounts in the order in which they began to be held. */
  const held = new Map<string, Held>()
  const farFromLimitsUntilMs = new Map<string, number>()
  let looking: NodeJS.Timeout | undefined

  function note(account: string, decision: AdmitDecision): void {
    if (decision.kind !== 'allow' || decision.isTight) farFromLimitsUntilMs.delete(account)
    else {
      if (farFromLimitsUntilMs.size >= MAX_ACCOUNTS) farFromLimitsUntilMs.clear()
      farFromLimitsUntilMs.set(account, performance.now() + FAR_FROM_LIMITS_FOR_MS)
    }
  }

  function isFarFromLimits(account: string): boolean {
    return (farFromLimitsUntilMs.get(account) ?? 0) > performance.now()
  }

  function hold(account: string, ends: RequestEnd[]): void {
    const known = held.get(account)
    if (known) known.ends.push(...ends)
    else held.set(account, { ends, sinceMs: performance.now() })
    looking ??= setTimeout(look, LOOK_EVERY_MS)
  }

  function take(account: string): RequestEnd[] | undefined {
    const taken = held.get(account)?.ends
    if (taken) held.delete(account)
    return taken
  }

  /** The calls of a turn leave in one write. */
  function look(): void {
    const dueMs = performance.now() + LOOK_EVERY_MS - HOLD_MS
    for (const [account, { sinceMs }] of held) {
      if (sinceMs > dueMs) break
      void sendEnds(account)
    }
    looking = held.size > 0 ? setTimeout(look, LOOK_EVERY_MS) : undefined
  }

  /** The ledger's total corrects an end that does not reach the store. */
  async function sendEnds(account: string): Promise<void> {
    try {
      await Promise.all((take(account) ?? []).map((end) => store.finish({ ...end, account })))
    } catch (err) {
      logger.warn({ err, account }, 'Redis did not correct reservations; the ledger will correct them')
    }
  }

  return {
    partOf: (account) => store.partOf(account),

    async admit(request) {
      const ends = take(request.account)
      try {
        const decision = await store.admit(ends ? { ...request, ends } : request)
        note(request.account, decision)
        return decision
      } catch (error) {
        if (ends) hold(request.account, ends)
        throw error
      }
    },

    async finish({ account, ...end }) {
      const isFull = held.get(account)?.ends.length === MAX_ENDS
      if (isFull || !isFarFromLimits(account)) await store.finish({ account, ...end })
      else hold(account, [end])
    },

    renew: (leases, leaseMs) => store.renew(leases, leaseMs),

    authenticate(key) {
      void sendEnds(key.account)
      return store.authenticate(key)
    },

    async [Symbol.asyncDispose]() {
      clearTimeout(looking)
      await Promise.all(held.keys().map(sendEnds))
    },
  }
}
