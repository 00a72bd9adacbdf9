/**
 * A large job body that its worker pulls in parts: which parts to request, and their assembly.
 *
 * At most `inFlight` parts are requested at a time; they may come in any order and more than once. Parts that stay
 * away are requested again. Pure: the clock is an argument.
 */

export interface BodyAssembly {
  readonly bytes: Uint8Array
  readonly partBytes: number
  readonly inFlight: number
  readonly retryMs: number
  /** The lowest part that was never requested. */
  nextPart: number
  /** Parts requested and not arrived. */
  readonly requested: Set<number>
  progressAtMs: number
}

export function createBody(bodyBytes: number, partBytes: number, inFlight: number, retryMs: number): BodyAssembly {
  // Nobody reads it before all parts have come, so no zeros are written first.
  const bytes = Buffer.allocUnsafeSlow(bodyBytes)
  return { bytes, partBytes, inFlight, retryMs, nextPart: 0, requested: new Set(), progressAtMs: 0 }
}

export function isComplete(body: BodyAssembly): boolean {
  return body.requested.size === 0 && !hasMore(body)
}

/** Parts that were never requested. */
function hasMore({ bytes, partBytes, nextPart }: BodyAssembly): boolean {
  return nextPart * partBytes < bytes.length
}

/** The parts to request now. */
export function takePulls(body: BodyAssembly, nowMs: number): number[] {
  if (body.requested.size === 0) body.progressAtMs = nowMs
  const pulls: number[] = []
  while (body.requested.size < body.inFlight && hasMore(body)) {
    body.requested.add(body.nextPart)
    pulls.push(body.nextPart++)
  }
  return pulls
}

/** The parts to request again, when none has come for a while. */
export function overduePulls(body: BodyAssembly, nowMs: number): number[] {
  if (body.requested.size === 0 || nowMs - body.progressAtMs < body.retryMs) return []
  body.progressAtMs = nowMs
  return [...body.requested]
}

/** Puts a part in its place. Parts that were not requested, came before or have the wrong size change nothing. */
export function putPart(body: BodyAssembly, part: number, bytes: Uint8Array, nowMs: number): void {
  if (!body.requested.has(part)) return
  const at = part * body.partBytes
  if (bytes.length !== Math.min(body.partBytes, body.bytes.length - at)) return
  body.bytes.set(bytes, at)
  body.requested.delete(part)
  body.progressAtMs = nowMs
}

/** Part `n` of a body, on the side that has it; null when there is no such part. */
export function partOf(bytes: Uint8Array, partBytes: number, n: number): Uint8Array | null {
  const at = n * partBytes
  return at < bytes.length ? bytes.subarray(at, at + partBytes) : null
}
