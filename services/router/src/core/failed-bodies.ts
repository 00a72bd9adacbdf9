/**
 * Remembers which bodies have failed at which targets, so that a request's own trouble stays its own.
 *
 * A body that has failed at a target a few times in a row goes to other targets first, for a while. Those may serve it
 * well, and its repeats cost the first target nothing. A body that fails at several backends is itself at fault. A body
 * is hashed only where one of its length is remembered. The memory is bounded: it forgets the oldest.
 */

/** A request's body, as far as this memory wants to know it. */
export interface Body {
  readonly bytes: number
  /** Made once, at the first use. */
  digest(): string
}

interface FailedBody {
  bytes: number
  /** By the target's key. */
  failures: Map<string, { backend: string; inARow: number; atMs: number }>
}

const MOST_BODIES = 1_024
/** One failure, or two, may be chance. */
const SPARED_AFTER = 3
const REMEMBERED_MS = 30_000

interface FailedTarget {
  key: string
  backend: string
}

export class FailedBodies {
  /** By digest, the one that failed last at the end. */
  readonly #bodies = new Map<string, FailedBody>()
  /** The number of entries of each length that are remembered. */
  readonly #lengths = new Map<number, number>()

  recordFailure(body: Body, { key, backend }: FailedTarget, nowMs: number): void {
    const digest = body.digest()
    const known = this.#bodies.get(digest) ?? this.#remember(body.bytes)
    const { inARow = 0 } = known.failures.get(key) ?? {}
    known.failures.set(key, { backend, inARow: inARow + 1, atMs: nowMs })
    this.#bodies.delete(digest)
    this.#bodies.set(digest, known)
    if (this.#bodies.size > MOST_BODIES) this.#forget(this.#bodies.keys().next().value!)
  }

  recordSuccess(body: Body, target: string): void {
    const known = this.#find(body)
    if (known === undefined || !known.failures.delete(target)) return
    if (known.failures.size === 0) this.#forget(body.digest())
  }

  /** True if the target comes after others. */
  avoids(body: Body, target: string, nowMs: number): boolean {
    const failure = this.#find(body)?.failures.get(target)
    return failure !== undefined && failure.inARow >= SPARED_AFTER && nowMs - failure.atMs < REMEMBERED_MS
  }

  /** True if it has failed at another backend, too. */
  failsElsewhere(body: Body, backend: string): boolean {
    const known = this.#find(body)
    return known !== undefined && [...known.failures.values()].some((failure) => failure.backend !== backend)
  }

  #find(body: Body): FailedBody | undefined {
    return this.#lengths.has(body.bytes) ? this.#bodies.get(body.digest()) : undefined
  }

  #remember(bytes: number): FailedBody {
    this.#lengths.set(bytes, (this.#lengths.get(bytes) ?? 0) + 1)
    return { bytes, failures: new Map() }
  }

  #forget(digest: string): void {
    const { bytes } = this.#bodies.get(digest)!
    this.#bodies.delete(digest)
    const left = this.#lengths.get(bytes)! - 1
    if (left > 0) this.#lengths.set(bytes, left)
    else this.#lengths.delete(bytes)
  }
}
