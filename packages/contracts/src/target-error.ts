/**
 * The error of a target, for a client of the target's own API. Clients of Messages look for the target's words, and act by
 * its status.
 */

import * as z from 'zod'
import { membersOf } from './json.ts'

export const targetError = z.object({
  status: z.int().min(400).max(599),
  /** JSON without the target's secrets. */
  body: z.string().optional(),
  /** Its `x-should-retry`. */
  shouldRetry: z.boolean().optional(),
})
export type TargetError = z.infer<typeof targetError>

/**
 * The body of the target as it is. Members of `ours` fill its gaps. `sentence`: replaces the target's, which it contains,
 * since clients look for a phrase in it.
 */
export function fillTargetBody(body: string, ours: { error: object }, gatewayCode: string, sentence?: string): object {
  const own = membersOf(JSON.parse(body))
  const theirs = membersOf(own['error'])
  const isWrong = (name: string) => typeof theirs[name] !== 'string' || (name === 'message' && sentence !== undefined)
  const gaps = new Set(['type', 'message'].filter(isWrong))
  const kept = Object.fromEntries(Object.entries(theirs).filter(([name]) => !gaps.has(name)))
  return { ...ours, ...own, type: 'error', error: { ...ours.error, ...kept, gateway_code: gatewayCode } }
}
