/**
 * The record of an overload run.
 */

import * as z from 'zod'
import { environment } from '../harness/machine.ts'

const level = z.object({
  /** Times the capacity. */
  times: z.number(),
  /**
   * Requests per second in a closed loop, the mean of one just before and one just after. A machine's speed moves by a sixth
   * between minutes. The earliest record has only its launch's.
   */
  capacity: z.number().optional(),
  /** Requests that were due each second, regardless of the gateway. */
  offered: z.number(),
  /** Responses that came whole, each second, to clients that still waited. */
  goodput: z.number(),
  p50: z.number(),
  p99: z.number(),
  /** The share of requests that were due, 0 to 1. */
  refused: z.number(),
  refusalP99: z.number(),
  /** The share of due requests whose clients gave up. */
  gaveUp: z.number(),
  /** Ends other than a response, a refusal or a client that left. */
  errors: z.number(),
})

const streams = z.object({
  requested: z.number(),
  complete: z.number(),
  refused: z.number(),
  refusalP99: z.number(),
  /** Neither whole nor refused. */
  broken: z.number(),
  lagP99: z.number(),
})

const launch = z.object({
  /** Requests per second in a closed loop, before all levels. */
  capacity: z.number(),
  levels: z.array(level),
  streams,
  loadBefore: z.number(),
  loadAfter: z.number(),
  othersShare: z.number(),
})

export const overloadResult = z.object({ environment, launches: z.array(launch) })

export type Level = z.infer<typeof level>

/**
 * Goodput as a part of the most that could come: the capacity, or the rate offered where that is less. The rate offered once follows
 * from the capacity before the level alone. On a machine that became faster meanwhile, a gateway that serves every request would
 * else stay below 1.
 */
export function goodputShare({ goodput, offered, capacity }: Level, launchCapacity: number): number {
  return goodput / Math.min(capacity ?? launchCapacity, offered)
}
export type Streams = z.infer<typeof streams>
export type OverloadResult = z.infer<typeof overloadResult>
