/**
 * The operator's requests to the keys service over the bus.
 *
 * An account is named by its token's `sub`, by `<iss>|<sub>` where several issuers share it, or by its tag, which guests
 * have too. A reply means that the change holds for the very next request.
 */

import * as z from 'zod'
import { callOrigin } from './administration/envelope.ts'
import { listedKey } from './developer-keys-api.ts'
import { openEnum } from './open-enum.ts'
import { planUnit } from './usage.ts'

const subject = z.string().min(1)
/** For the audit log. */
const origin = callOrigin.optional()

export const setPlanRequest = z.object({ subject, plan: z.string(), origin })
export const setOverageRequest = z.object({ subject, overage: z.boolean(), origin })
export const topUpRequest = z.object({
  /** A repeated request with the same id adds nothing more. */
  id: z.uuid(),
  subject,
  /** In the unit of the account's plan: allowance tokens or US dollars. Counts in the current month. */
  amount: z.number().positive(),
  origin,
})
export const showAccountRequest = z.object({ subject })
export const revokeKeyByIdRequest = z.object({ keyId: z.string(), origin })

export type SetPlanRequest = z.infer<typeof setPlanRequest>
export type SetOverageRequest = z.infer<typeof setOverageRequest>
export type TopUpRequest = z.infer<typeof topUpRequest>
export type ShowAccountRequest = z.infer<typeof showAccountRequest>
export type RevokeKeyByIdRequest = z.infer<typeof revokeKeyByIdRequest>

export const accountView = z.object({
  account: z.string(),
  kind: openEnum(['developer', 'guest', 'project']),
  issuer: z.string().nullable(),
  subject: z.string().nullable(),
  plan: z.string(),
  unit: planUnit,
  overage: z.boolean(),
  /** All its keys are refused until an operator restores it. */
  suspended: z.boolean().default(false),
  /** Top-ups of the current month, in `unit`. */
  extra: z.number(),
  /** The newest ones. */
  keys: z.array(listedKey),
  /** There are older keys. */
  hasMoreKeys: z.boolean().default(false),
})
export type AccountView = z.infer<typeof accountView>

/** `ambiguous`: several issuers share this subject; `matches` distinguishes them. */
const notOne = [
  z.object({ kind: z.literal('unknown') }),
  z.object({ kind: z.literal('ambiguous'), matches: z.array(z.string()) }),
] as const

export const accountReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('account'), account: accountView }),
  z.object({ kind: z.literal('no_such_plan'), plans: z.array(z.string()) }),
  ...notOne,
])
export type AccountReply = z.infer<typeof accountReply>

export const revokeKeyByIdReply = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('revoked'), account: z.string() }),
  z.object({ kind: z.literal('unknown') }),
])
export type RevokeKeyByIdReply = z.infer<typeof revokeKeyByIdReply>

/**
 * Re-encrypts some keys under the current master key. The caller repeats the request until `isComplete`; being cut
 * off loses nothing.
 */
export const resealRequest = z.object({ origin })
export const resealReply = z.object({
  sealedAnew: z.int(),
  /** Every key and secret is sealed under the current master key: former ones may be retired. */
  isComplete: z.boolean(),
})
export type ResealReply = z.infer<typeof resealReply>
