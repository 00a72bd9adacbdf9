/**
 * The cap on new guest devices: at most 20 in any hour per client network, exact. The log holds the times of the mints
 * that were let through, oldest first, and never more than the cap.
 */

export const GUEST_MINTS_PER_HOUR = 20
const HOUR_MS = 3_600_000

export type GuestCapDecision = { kind: 'admitted'; log: number[] } | { kind: 'limited'; retryAfterMs: number }

export function decideGuestMint(log: readonly number[], nowMs: number): GuestCapDecision {
  const recent = log.filter((mintedAtMs) => mintedAtMs > nowMs - HOUR_MS)
  const inTheWay = recent[recent.length - GUEST_MINTS_PER_HOUR]
  if (inTheWay === undefined) return { kind: 'admitted', log: [...recent, nowMs] }
  return { kind: 'limited', retryAfterMs: inTheWay + HOUR_MS - nowMs }
}
