/**
 * A question about usage over time, whole: its defaults filled in, its days in order and not too many.
 */

import { GatewayError } from './errors.ts'
import { longestUsageSpanDays, type UsageQuery } from './usage-api.ts'

export type UsageQuestion = Required<UsageQuery>

const DAY_MS = 86_400_000

export function completeUsageQuestion(query: UsageQuery, nowMs: number): UsageQuestion {
  const today = new Date(nowMs).toISOString().slice(0, 10)
  const { from = `${today.slice(0, 7)}-01`, to = today, group_by } = query
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (days < 1) {
    const order = query.from === undefined ? `to: ${to} lies before ${from}` : `from: ${from} lies after ${to}`
    throw new GatewayError('VALIDATION_ERROR', order)
  }
  if (days > longestUsageSpanDays) {
    throw new GatewayError(
      'VALIDATION_ERROR',
      `to: ${days} days from ${from} to ${to}, and ${longestUsageSpanDays} may be asked for at once`,
    )
  }
  return { from, to, group_by }
}
