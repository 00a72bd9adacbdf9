/**
 * Figures, times and prices as people read them. English and UTC throughout: the ledger's days and windows are UTC's.
 */

import type { QuotedPrice } from '@gateway/contracts/quote'
import type { PlanUnit } from '@gateway/contracts/usage'

const LOCALE = 'en'
const upToThree = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 3 })
const date = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
const shortDate = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const time = new Intl.DateTimeFormat(LOCALE, {
  ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' },
})
const moment = new Intl.DateTimeFormat(LOCALE, {
  ...{ day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' },
})

export const { format: formatCount } = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 })

/** `1.2M`: for places where the exact figure stands nearby. */
export const { format: formatCompact } = new Intl.NumberFormat(LOCALE, {
  notation: 'compact',
  maximumFractionDigits: 1,
})

/** Two decimals; below a dollar three significant figures: `$12.34`, `$0.000213`. */
export function formatUsd(value: number): string {
  if (value === 0 || value >= 0.995) return money(value, 2)
  const decimals = Math.min(9, Math.max(2, 2 - Math.floor(Math.log10(value))))
  return money(value, decimals)
}

function money(value: number, decimals: number): string {
  return new Intl.NumberFormat(LOCALE, {
    ...{ style: 'currency', currency: 'USD' },
    ...{ minimumFractionDigits: 2, maximumFractionDigits: decimals },
  }).format(value)
}

/** An amount in a plan's unit: `1,234 tokens`, `$1.23`. */
export function formatAmount(amount: number, unit: PlanUnit): string {
  return unit === 'usd' ? formatUsd(amount) : `${upToThree.format(amount)} ${amount === 1 ? 'token' : 'tokens'}`
}

/** The charge of a request. Its unit sets it apart from the tokens that the request used. */
export function formatCharge(amount: number, unit: PlanUnit): string {
  return unit === 'usd' ? formatUsd(amount) : `${upToThree.format(amount)} allowance tokens`
}

/** `87%`, rounded down: all of it is `100%`, and nothing else is. */
export function formatShare(part: number, total: number): string {
  return total === 0 ? '–' : `${Math.floor((100 * part) / total)}%`
}

export function formatMultiplier(value: number): string {
  return `${upToThree.format(value)}×`
}

export function formatPrice(price: QuotedPrice): string {
  if ('multiplier' in price) return formatMultiplier(price.multiplier)
  if ('usd_per_million' in price) return `${formatUsd(price.usd_per_million)} / M`
  return `${formatUsd(price.input_usd_per_million)} in, ${formatUsd(price.output_usd_per_million)} out / M`
}

/** `1 December 2026` */
export function formatDate(iso: string): string {
  return date.format(new Date(iso))
}

export function formatShortDate(iso: string): string {
  return shortDate.format(new Date(iso))
}

/** `08:15` */
export function formatTime(iso: string): string {
  return time.format(new Date(iso))
}

/** `21 Nov 2026, 08:15 UTC` */
export function formatMoment(iso: string): string {
  return `${moment.format(new Date(iso))} UTC`
}

/** `in 9 days`, `in 5 hours`. */
export function formatUntil(iso: string, nowMs: number): string {
  const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'always' })
  const hours = (Date.parse(iso) - nowMs) / 3_600_000
  if (hours >= 48) return relative.format(Math.floor(hours / 24), 'day')
  if (hours >= 1) return relative.format(Math.floor(hours), 'hour')
  return relative.format(Math.max(1, Math.ceil(hours * 60)), 'minute')
}

/** `just now`, `5 minutes ago`, `yesterday`. */
export function formatAgo(iso: string, nowMs: number): string {
  const relative = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto' })
  const minutes = Math.floor((nowMs - Date.parse(iso)) / 60_000)
  if (minutes < 1) return 'just now'
  if (minutes < 60) return relative.format(-minutes, 'minute')
  if (minutes < 24 * 60) return relative.format(-Math.floor(minutes / 60), 'hour')
  return relative.format(-Math.floor(minutes / (24 * 60)), 'day')
}

export function formatWait(ms: number): string {
  if (ms < 1_000) return 'a second'
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 120) return `${seconds} seconds`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`
}

export function formatDuration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
}
