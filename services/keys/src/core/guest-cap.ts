/**
 * The cap on new guest devices in any hour per client network, exact; the guest plan's `newDevicesPerHour` says how many.
 * The log holds the times of the mints that were let through, oldest first, and never more than the cap.
 */

const HOUR_MS = 3_600_000

export type GuestCapDecision = { kind: 'admitted'; log: number[] } | { kind: 'limited'; retryAfterMs: number }

export function decideGuestMint(log: readonly number[], nowMs: number, perHour: number): GuestCapDecision {
  const recent = log.filter((mintedAtMs) => mintedAtMs > nowMs - HOUR_MS)
  const inTheWay = recent[recent.length - perHour]
  if (inTheWay === undefined) return { kind: 'admitted', log: [...recent, nowMs] }
  return { kind: 'limited', retryAfterMs: inTheWay + HOUR_MS - nowMs }
}
