/**
 * The measurements of one launch of one subject: the raw material of the tables. Times in milliseconds.
 */

import * as z from 'zod'
import { environment } from '../harness/machine.ts'

const latency = z.object({
  count: z.number(),
  mean: z.number(),
  p50: z.number(),
  p90: z.number(),
  p99: z.number(),
  p999: z.number(),
  max: z.number(),
})

/** CPU milliseconds by process, per request or per chunk. */
const costs = z.record(z.string(), z.number())

const plain = z.object({
  connections: z.number(),
  requests: z.number(),
  perSecond: z.number(),
  failed: z.number(),
  firstFailure: z.string(),
  latency,
  cpuMs: costs,
  backendCpuMs: z.number(),
})

/** The same requests straight to the backend, and through the subject. */
const pair = z.object({ direct: latency, through: latency, failed: z.number() })

const streamLevel = z.object({
  streams: z.number(),
  chunks: z.number(),
  failed: z.number(),
  firstFailure: z.string(),
  /** From when the backend wrote a chunk to when the client had it. */
  lag: latency,
  /** The backend's own lateness with its chunks: the machine's part. */
  backendLateP99: z.number(),
  cpuMs: costs,
  backendCpuMs: z.number(),
})

const launchResult = z.object({
  subject: z.string(),
  round: z.number(),
  takenAt: z.string(),
  loadBefore: z.number(),
  loadAfter: z.number(),
  /** The part of the machine's CPU that others took meanwhile, 0 to 1. */
  othersShare: z.number(),
  plain: plain.optional(),
  low: pair.optional(),
  half: pair.extend({ rate: z.number() }).optional(),
  firstContent: pair.optional(),
  streams: z.array(streamLevel).optional(),
  memoryMb: z.object({ started: costs, loaded: costs }),
})

export const comparison = z.object({
  environment,
  rounds: z.number(),
  steps: z.array(z.string()),
  /** By name; `missing` says why a subject could not be measured here. */
  subjects: z.record(z.string(), z.object({ description: z.string().optional(), missing: z.string().optional() })),
  launches: z.array(launchResult),
})

export type LaunchResult = z.infer<typeof launchResult>
export type StreamLevel = z.infer<typeof streamLevel>
export type Comparison = z.infer<typeof comparison>
export type Costs = z.infer<typeof costs>
