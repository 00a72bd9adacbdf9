/**
 * `POST /v1/quote`: the price of a chat request. The body is that of the request, in the API that the query names.
 */

import * as z from 'zod'
import { planUnit } from './usage.ts'
import { clientDialects } from './vendors.ts'

export const quoteQuery = z.object({ dialect: z.enum(clientDialects).default('chat') })

const vendorPrice = {
  input_usd_per_million: z.number(),
  cached_input_usd_per_million: z.number(),
  cache_write_usd_per_million: z.number().optional(),
  cache_write_hour_usd_per_million: z.number().optional(),
  output_usd_per_million: z.number(),
  audio_input_usd_per_million: z.number().optional(),
  cached_audio_input_usd_per_million: z.number().optional(),
  audio_output_usd_per_million: z.number().optional(),
}

/** The price per call of tools that the vendor runs, by name. */
const perCall = z.record(z.string(), z.number()).optional()

/** In the units of the catalog and of vendors' price lists. */
export const quotedPrice = z.union([
  z.object({ multiplier: z.number(), tokens_per_call: perCall }),
  z.object({ usd_per_million: z.number(), usd_per_call: perCall }),
  z.object({
    ...vendorPrice,
    usd_per_call: perCall,
    /** The price of the whole request when its prompt has more tokens than this. */
    long_prompt: z.object({ above_tokens: z.int(), ...vendorPrice }).optional(),
    rates_from: z.object({ source: z.string(), date: z.iso.date().optional() }).optional(),
  }),
])
export type QuotedPrice = z.infer<typeof quotedPrice>

export const quoteResponse = z.object({
  object: z.literal('quote'),
  model: z.string(),
  /** The serving lane; differs from `model` for Auto only, which then says why. */
  lane: z.string(),
  reason: z.string().nullable(),
  pool: z.string(),
  plan: z.string(),
  /** The unit of every amount below. */
  unit: planUnit,
  price: quotedPrice,
  /** For a response of the usual length. */
  estimated_charge: z.number(),
  /** For a response as long as its cap allows. */
  worst_case_charge: z.number(),
  /** By the ledger. */
  remaining: z.number(),
  /** The worst case fits the rest of the allowance. */
  fits: z.boolean(),
})
