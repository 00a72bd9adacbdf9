/**
 * The public lists of models and tiers.
 */

import * as z from 'zod'

export const modelEntry = z.looseObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
})
export const modelList = z.object({ object: z.literal('list'), data: z.array(modelEntry) })

export const tierEntry = z.object({
  id: z.string(),
  name: z.string(),
  order: z.int(),
  /** Null for Auto, which is billed at the lane it routes to. */
  multiplier: z.number().nullable(),
  availability: z.enum(['all', 'paid']),
  purpose: z.string(),
})
export const tierCatalog = z.object({
  object: z.literal('catalog'),
  view: z.literal('tiers'),
  data: z.array(tierEntry),
})
