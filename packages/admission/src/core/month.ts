/**
 * The calendar that windows and daily caps follow: UTC, by the store's clock.
 */

export const DAY_MS = 86_400_000

/** The billing window that a moment lies in, and when the next one begins. */
export function monthOf(nowMs: number): { window: string; resetsAtMs: number } {
  const date = new Date(nowMs)
  return monthNamed(`${date.getUTCFullYear()}-${String(date.getUTCMonth() + 1).padStart(2, '0')}`)
}

export function monthNamed(window: string): { window: string; resetsAtMs: number } {
  const [year, month] = window.split('-').map(Number) as [number, number]
  return { window, resetsAtMs: Date.UTC(year, month, 1) }
}

/** Days since 1970. */
export function dayOf(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS)
}
