/**
 * The public lists of models and tiers.
 */

import * as z from 'zod'

/** There where the end of a model is announced; its responses carry `Deprecation`, `Sunset` and `Link` headers as well. */
const deprecationNotice = z.object({
  /** From when new work should use something else. */
  since: z.iso.date().nullable(),
  /** From when the model is gone. */
  sunset: z.iso.date().nullable(),
  replacement: z.string().nullable(),
})
export type DeprecationNotice = z.infer<typeof deprecationNotice>

export const modelEntry = z.looseObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  deprecation: deprecationNotice.optional(),
})
export type ModelEntry = z.infer<typeof modelEntry>
export const modelList = z.object({ object: z.literal('list'), data: z.array(modelEntry) })

/** The same as Anthropic's clients read it. */
export const modelInfo = z.object({
  type: z.literal('model'),
  id: z.string(),
  display_name: z.string(),
  created_at: z.iso.datetime(),
  lifecycle: z.enum(['active', 'deprecated']),
  deprecated_at: z.iso.datetime().nullable(),
  retires_at: z.iso.datetime().nullable(),
  /** The gateway's models are of no line of Anthropic's. */
  line: z.null(),
  /** Each target has its own. */
  capabilities: z.null(),
  max_input_tokens: z.null(),
  max_tokens: z.int().nullable(),
})
export type ModelInfo = z.infer<typeof modelInfo>
export const modelsPage = z.object({
  data: z.array(modelInfo),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
})

const tierEntry = z.object({
  id: z.string(),
  name: z.string(),
  order: z.int(),
  /** Null for Auto, which is billed at the lane it routes to, and for a vendor's model, which is billed at its rates. */
  multiplier: z.number().nullable(),
  availability: z.enum(['all', 'paid']),
  purpose: z.string(),
  deprecation: deprecationNotice.optional(),
})
export type TierEntry = z.infer<typeof tierEntry>
export const tierCatalog = z.object({
  object: z.literal('catalog'),
  view: z.literal('tiers'),
  data: z.array(tierEntry),
})
