/**
 * The monthly allowance: what is settled or has ended counts as used, what runs counts with the most it can cost.
 *
 * A request is admitted while used + running is below the limit, so the limit is passed by less than the worst case of
 * the one admitted last, however many ask at once.
 */

/** When a running request ends is not known. They usually take seconds. */
export const PENDING_RETRY_MS = 1000

export interface Sums {
  used: number
  running: number
  limit: number
  overage: boolean
}

export type AllowanceVerdict = 'fits' | 'allowance' | 'pending'

/** As much as runs now, once more, would reach the limit. */
export function isAllowanceTight({ used, running, limit, overage }: Sums): boolean {
  return !overage && used + 2 * running >= limit
}

export function judgeAllowance(sums: Sums): AllowanceVerdict {
  if (sums.overage) return 'fits'
  if (sums.used >= sums.limit) return 'allowance'
  return sums.used + sums.running >= sums.limit ? 'pending' : 'fits'
}
