/**
 * `GET /v1/plan`: the caller's plan: its limits, and every model with its price if the plan includes it. A decision of
 * this project; the contract names no such endpoint.
 *
 * Callers send an API key, or a sign-in token through its account's active key.
 */

import * as z from 'zod'
import { quotedPrice } from './quote.ts'
import { planUnit } from './usage.ts'

const plannedModel = z.object({
  id: z.string(),
  /** A tier's name; null for models that are no tier. */
  name: z.string().nullable(),
  type: z.enum(['chat', 'embeddings', 'images', 'auto']),
  purpose: z.string(),
  included: z.boolean(),
  /** Null for Auto, which is billed at the lane it chooses, and for vendors' models on plans that cannot have them. */
  price: quotedPrice.nullable(),
  /** The replacement of a legacy id. */
  replacement: z.string().nullable(),
})
export type PlannedModel = z.infer<typeof plannedModel>

export const planRecord = z.object({
  object: z.literal('plan'),
  plan: z.string(),
  /** The unit of `limit`. */
  unit: planUnit,
  /** The month's allowance, top-ups included. */
  limit: z.number(),
  /** The gateway also serves requests beyond the allowance. */
  overage: z.boolean(),
  requests_per_minute: z.int(),
  tokens_per_minute: z.int(),
  requests_per_day: z.int().nullable(),
  /** Tiers first, in their order. */
  models: z.array(plannedModel),
})
export type PlanRecord = z.infer<typeof planRecord>
