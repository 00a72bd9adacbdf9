/**
 * A scale curve: a measurement against the size of one thing.
 */

import * as z from 'zod'
import { environment } from '../harness/machine.ts'

export const curve = z.object({
  title: z.string(),
  /** The name of the thing that grows. */
  x: z.string(),
  columns: z.record(z.string(), z.string()),
  points: z.array(z.object({ x: z.union([z.number(), z.string()]), values: z.record(z.string(), z.number()) })),
  /** Columns drawn together, under the words for their common unit. */
  panels: z.array(z.object({ title: z.string(), columns: z.array(z.string()) })),
  notes: z.array(z.string()),
})

export type Curve = z.infer<typeof curve>

export const scaleResult = z.object({
  environment,
  curves: z.record(
    z.string(),
    curve.extend({ takenAt: z.string(), loadBefore: z.number(), loadAfter: z.number(), othersShare: z.number() }),
  ),
})

export type ScaleResult = z.infer<typeof scaleResult>

export interface Scaling {
  signal: AbortSignal
  say(line: string): void
  /** The largest size, where the full size takes long. */
  mostKeys: number
  mostRows: number
}
