/**
 * Limits the transactions that create guest keys. Anybody may request one, so few run at once: networks take turns, and each has
 * one at a time. Beyond a bound, the limiter refuses a request at once.
 *
 * The transaction alone decides whether a network has reached its cap. The limiter repeats its refusal for a moment, so that a
 * network that keeps sending requests costs one transaction a second.
 */

export interface MintRateLimiter {
  /** `isKnownDevice`: the device has an account, so the cap on new ones does not concern it. */
  enter<Outcome extends { kind: string }>(
    visit: { network: string; isKnownDevice: boolean },
    mint: () => Promise<Outcome | Limited>,
  ): Promise<Outcome | Limited | Busy>
}

export interface Limited {
  kind: 'limited'
  retryAfterMs: number
}

interface Busy {
  kind: 'busy'
  retryAfterMs: number
}

/** Mints that run at once, of the pool's ten connections. */
const AT_ONCE = 3
const MAX_WAITING = 200
const MAX_WAITING_PER_NETWORK = 100
/** Below the five seconds that an edge waits. The limiter refuses a request that has waited longer at its turn. */
const LONGEST_WAIT_MS = 2_000
const BELIEVED_MS = 1_000
const BUSY: Busy = { kind: 'busy', retryAfterMs: 1_000 }
/** A forgotten refusal costs a transaction. */
const MAX_REFUSALS = 10_000

interface Waiting {
  isKnownDevice: boolean
  sinceMs: number
  run(): Promise<void>
  refuse(reply: Limited | Busy): void
}

export function openMintRateLimiter(nowMs: () => number = () => performance.now()): MintRateLimiter {
  /** By network, the next one first. */
  const lines = new Map<string, Waiting[]>()
  const inside = new Set<string>()
  const refusals = new Map<string, { untilMs: number; believedUntilMs: number }>()
  let waiting = 0

  const refusalOf = (network: string): Limited | undefined => {
    const refusal = refusals.get(network)
    if (!refusal) return undefined
    if (refusal.believedUntilMs > nowMs())
      return { kind: 'limited', retryAfterMs: Math.ceil(refusal.untilMs - nowMs()) }
    refusals.delete(network)
    return undefined
  }

  const noteRefusal = (network: string, { retryAfterMs }: Limited) => {
    const [oldest] = refusals.keys()
    if (refusals.size >= MAX_REFUSALS && oldest !== undefined) refusals.delete(oldest)
    const believedMs = Math.min(BELIEVED_MS, retryAfterMs)
    refusals.set(network, { untilMs: nowMs() + retryAfterMs, believedUntilMs: nowMs() + believedMs })
    const line = lines.get(network) ?? []
    const kept = line.filter((visitor) => visitor.isKnownDevice)
    waiting -= line.length - kept.length
    if (kept.length > 0) lines.set(network, kept)
    else lines.delete(network)
    for (const visitor of line) {
      if (!visitor.isKnownDevice) visitor.refuse({ kind: 'limited', retryAfterMs })
    }
  }

  const letIn = () => {
    while (inside.size < AT_ONCE) {
      const network = lines.keys().find((candidate) => !inside.has(candidate))
      if (network === undefined) return
      const line = lines.get(network)!
      const visitor = line.shift()!
      waiting--
      // A network that had a turn goes to the end.
      lines.delete(network)
      if (line.length > 0) lines.set(network, line)
      if (nowMs() - visitor.sinceMs > LONGEST_WAIT_MS) {
        visitor.refuse(BUSY)
        continue
      }
      inside.add(network)
      void visitor.run().finally(() => {
        inside.delete(network)
        letIn()
      })
    }
  }

  return {
    enter<Outcome extends { kind: string }>(
      { network, isKnownDevice }: { network: string; isKnownDevice: boolean },
      mint: () => Promise<Outcome | Limited>,
    ) {
      const refusal = isKnownDevice ? undefined : refusalOf(network)
      if (refusal) return Promise.resolve(refusal)
      const line = lines.get(network) ?? []
      if (waiting >= MAX_WAITING || line.length >= MAX_WAITING_PER_NETWORK) return Promise.resolve(BUSY)
      const { promise, resolve, reject } = Promise.withResolvers<Outcome | Limited | Busy>()
      line.push({
        isKnownDevice,
        sinceMs: nowMs(),
        run: () =>
          mint().then((outcome) => {
            if (isLimited(outcome)) noteRefusal(network, outcome)
            resolve(outcome)
          }, reject),
        refuse: resolve,
      })
      lines.set(network, line)
      waiting++
      letIn()
      return promise
    },
  }
}

function isLimited(outcome: { kind: string }): outcome is Limited {
  return outcome.kind === 'limited'
}
