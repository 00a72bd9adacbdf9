/**
 * Ends of requests that travel with their account's next admission, which saves a call of their own.
 *
 * For the store, a held end means a request that ran up to {@link HOLD_MS} longer. Its reservation stays so much longer,
 * so no limit leaks. It could only refuse a request that would else pass. So the edge sends an end at once where the account is
 * near a limit, or sent no request lately. An edge that dies leaves the reservation to the ledger or to its lease, as it does
 * with running requests.
 */

import type { AdmitDecision, AdmitRequest, EdgeAdmission, RequestEnd } from '@gateway/admission/port'
import type { Logger } from '@gateway/telemetry/logger'
import { setBounded } from '../auth/account-cache.ts'

const HOLD_MS = 100
/** The edge sends an end on the last look within its time. */
const LOOK_EVERY_MS = 25
/** Other edges may use the account up meanwhile. */
const FAR_FROM_LIMITS_FOR_MS = 5_000
/** Forgetting an account costs a call at its next end. */
const MAX_ACCOUNTS = 100_000
/** One call carries them all. */
const MAX_ENDS = 100

/** Of requests with keys of projects. When full, the ends of the forgotten ones leave at once. */
const MAX_LIMITED = 100_000

interface Held {
  ends: RequestEnd[]
  sinceMs: number
}

/** Disposing sends the held ends. */
export function batchReleases(store: EdgeAdmission, logger: Logger): EdgeAdmission & AsyncDisposable {
  /** Accounts in the order in which they began to be held. */
  const held = new Map<string, Held>()
  /** By the account; by key and model where these have limits of their own. */
  const farFromLimitsUntilMs = new Map<string, number>()
  /** The running requests with keys of projects, by that name. */
  const limited = new Map<string, string>()
  let looking: NodeJS.Timeout | undefined

  function note(request: AdmitRequest, decision: AdmitDecision): void {
    const name = limitedName(request)
    if (decision.kind !== 'allow' || decision.isTight) farFromLimitsUntilMs.delete(name)
    else {
      if (farFromLimitsUntilMs.size >= MAX_ACCOUNTS) farFromLimitsUntilMs.clear()
      farFromLimitsUntilMs.set(name, performance.now() + FAR_FROM_LIMITS_FOR_MS)
    }
    const isRunning = decision.kind === 'allow' && (request.takes ?? 'all') === 'all'
    if (isRunning && name !== request.account) setBounded(limited, request.requestId, name, MAX_LIMITED)
  }

  function isFarFromLimits(account: string, requestId: string): boolean {
    const name = (limited.size > 0 && limited.get(requestId)) || account
    limited.delete(requestId)
    return (farFromLimitsUntilMs.get(name) ?? 0) > performance.now()
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
        note(request, decision)
        return decision
      } catch (error) {
        if (ends) hold(request.account, ends)
        throw error
      }
    },

    async finish({ account, ...end }) {
      const isFar = isFarFromLimits(account, end.requestId)
      const isFull = held.get(account)?.ends.length === MAX_ENDS
      if (isFull || !isFar) await store.finish({ account, ...end })
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

/** A key of a project may be near its own limits, or those of the model, while its account is far from any. */
function limitedName({ account, keyHash, model, policyHint }: AdmitRequest): string {
  return policyHint === undefined ? account : `${keyHash} ${model ?? ''}`
}
