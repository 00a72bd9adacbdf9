/**
 * The record of a soak: a sample per slice of time, and the ledger held against the counts of clients and backend.
 */

import * as z from 'zod'
import { environment } from '../harness/machine.ts'

const soakResult = z.object({
  environment,
  minutes: z.number(),
  rate: z.number(),
  streams: z.number(),
  loadBefore: z.number(),
  loadAfter: z.number(),
  othersShare: z.number(),
  samples: z.array(
    z.object({
      minute: z.number(),
      memoryMb: z.record(z.string(), z.number()),
      /** Milliseconds. */
      latencyP50: z.number(),
      latencyP99: z.number(),
      lagP99: z.number(),
      /** Responses that the clients have whole and the ledger does not hold yet. */
      behind: z.number(),
      failed: z.number(),
    }),
  ),
  audit: z
    .object({
      /** Whole responses that clients counted. */
      completed: z.number(),
      rows: z.number(),
      /** Completion tokens of those responses as the backend gives them, and as the ledger sums them. */
      expectedTokens: z.number(),
      tokens: z.number(),
      /** The total of the windows, beside the sum of the rows' charges. */
      windowTotal: z.number(),
      charges: z.number(),
      failed: z.number(),
      firstFailure: z.string(),
    })
    .optional(),
})

export type SoakResult = z.infer<typeof soakResult>
export type SoakSample = SoakResult['samples'][number]
export type Audit = NonNullable<SoakResult['audit']>

/** Nothing lost, nothing counted twice, nothing charged wrongly. */
export function isExact({ completed, rows, expectedTokens, tokens, windowTotal, charges }: Audit): boolean {
  return rows === completed && tokens === expectedTokens && windowTotal === charges
}
