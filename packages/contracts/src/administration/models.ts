/**
 * The models of the config for administrators: the price of each, the plans that include it, and the backends that serve it.
 */

import * as z from 'zod'
import { nothing, type Operation } from './operation.ts'

const rates = z.object({
  input_usd_per_million: z.number(),
  output_usd_per_million: z.number(),
  cached_input_usd_per_million: z.number().nullable(),
  /** The list or contract that the rates are from, and its day. */
  source: z.string().nullable(),
  as_of: z.string().nullable(),
})

const model = z.object({
  id: z.string(),
  object: z.literal('model'),
  name: z.string().nullable(),
  type: z.enum(['chat', 'embeddings', 'images', 'auto']),
  aliases: z.array(z.string()),
  purpose: z.string().nullable(),
  /** The slugs of the plans that include it. */
  plans: z.array(z.string()),
  /** Allowance tokens for each token; null where `rates` or the chosen lane decide. */
  multiplier: z.number().nullable(),
  rates: rates.nullable(),
  replacement: z.string().nullable(),
  deprecated_at: z.string().nullable(),
  sunset_at: z.string().nullable(),
  /** Auto has lanes instead. */
  pool: z.string().nullable(),
  targets: z.array(z.object({ backend: z.string(), model: z.string(), priority: z.int(), weight: z.int() })),
  lanes: z.array(z.string()),
})
export type ConfiguredModel = z.input<typeof model>

export const modelOperations = {
  'models.list': {
    method: 'GET',
    path: '/admin/v1/models',
    service: 'edge',
    access: 'reader',
    query: nothing,
    body: nothing,
    output: z.object({ object: z.literal('list'), data: z.array(model) }),
    about: 'lists the models of the config: prices, plans, and the backends that serve each',
  },
} as const satisfies Record<string, Operation>
