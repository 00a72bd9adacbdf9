/**
 * A payment system's part of a top-up: the address of its page, and the call by which it reports a payment. The call is signed by the
 * Standard Webhooks specification.
 */

import * as z from 'zod'

/**
 * The address of the top-up page for a project. The contract fixes the address of a personal account, whose owner the page knows by its
 * own sign-in. All that `url` has stays as it is.
 */
export function topUpAddress(url: string, project: string | undefined): string {
  if (project === undefined) return url
  const hashAt = url.indexOf('#')
  const [page, fragment] = hashAt < 0 ? [url, ''] : [url.slice(0, hashAt), url.slice(hashAt)]
  const separator = page.includes('?') ? '&' : '?'
  return `${page}${separator}project=${encodeURIComponent(project)}${fragment}`
}

export const TOP_UPS_PATH = '/billing/top-ups'

const LARGEST_TOP_UP = 1e12
/** In the unit of the account's plan. */
export const topUpAmount = z.number().positive().max(LARGEST_TOP_UP)

export const topUpBody = z.strictObject({
  /** The same one for each report of a payment: it counts once. */
  id: z.uuid(),
  /** A project's id; a token's `sub` names a personal account, too. */
  project: z.string().min(1).max(256),
  amount: topUpAmount,
})

export const topUpReceived = z.object({
  object: z.literal('top_up'),
  id: z.string(),
  project: z.string(),
  amount: z.number(),
})
