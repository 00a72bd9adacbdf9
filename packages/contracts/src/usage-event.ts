/**
 * The ledger's news of one request. The edge publishes it durably, or the router that lost its edge.
 *
 * The ledger keeps one row per `requestId`; an edge's report outranks a router's for the same request.
 */

import * as z from 'zod'
import { openEnum } from './open-enum.ts'
import { price, planUnit, planVersion, tokenUsage } from './usage.ts'

/** W3C trace context: whose child the receiver's span is. `00-<trace id>-<span id>-<flags>` */
const traceparent = z.string().regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/)

export const attemptRecord = z.object({
  backend: z.string(),
  model: z.string(),
  /** Stable word for how the attempt ended: `served`, `http_503`, `connect`, `first_byte_timeout`, … */
  outcome: z.string(),
  durationMs: z.number().min(0),
})
export type AttemptRecord = z.infer<typeof attemptRecord>

const usageOutcomes = [
  'completed',
  'client_gone',
  'backend_failed',
  'cut',
  'edge_lost',
  'router_lost',
  'undelivered',
] as const

export const jobKinds = ['chat', 'embeddings', 'images'] as const

/** `endpoint`: requested at `/v1/responses/compact`. `trigger`: by the last item of a request to `/v1/responses`. */
export const compactionForms = ['endpoint', 'trigger'] as const
export type CompactionForm = (typeof compactionForms)[number]

/** The facts that a request is billed by. The edge writes them into the job, and the reporter of the request into its report. */
export const bill = z.object({
  /** UUIDv7, the gateway's own. */
  requestId: z.uuid(),
  account: z.string(),
  keyId: z.string(),
  plan: z.string(),
  unit: planUnit,
  /** The one that it was admitted under. */
  planVersion: planVersion.optional(),
  /** Calendar month in UTC by admission's clock: `2026-11`. */
  window: z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/),
  /**
   * Requests of an account with the same claim are the same request under one `Idempotency-Key`; the ledger charges
   * one of them. It shows neither.
   */
  claim: z.string().optional(),
  /** The client's session, and the agent of it that sent the request, as the client names them; bounded by the edge. */
  sessionId: z.string().optional(),
  /** Left out for the main agent of a session. */
  agentId: z.string().optional(),
  parentAgentId: z.string().optional(),
  /** The request compacts a conversation. */
  compaction: openEnum(compactionForms).optional(),
  /** The account is a project's. */
  isProject: z.boolean().optional(),
  /** The member of the project whose key it is. */
  userId: z.string().optional(),
  /** The client's own user, hashed by the edge: OpenAI's `safety_identifier`, or `user`. */
  endUser: z.string().optional(),
  /** By the client's `x-svc-tags` and `metadata`; bounded by the edge. */
  tags: z.record(z.string(), z.string()).optional(),
  /** `chat`, `embeddings` or `images`. */
  kind: openEnum(jobKinds).optional(),
  modelAsked: z.string(),
  lane: z.string(),
  pool: z.string(),
  price,
  startedAtMs: z.int(),
  /** The span of the edge, or of the report, where traces are on. */
  traceparent: traceparent.optional(),
})
export type Bill = z.infer<typeof bill>
/**
 * As the edge writes it: every new field is optional on the wire, and the compiler demands it of the edge all the
 * same.
 */
export type CompleteBill = { [Field in keyof Required<Bill>]: Bill[Field] }

export const usageEvent = z.object({
  ...bill.shape,
  reporter: openEnum(['edge', 'router']),
  backend: z.string(),
  backendModel: z.string(),
  usage: tokenUsage,
  outcome: openEnum(usageOutcomes),
  /** The end of the response was ready to reach the client. */
  delivered: z.boolean(),
  streamed: z.boolean(),
  attempts: z.array(attemptRecord),
  endedAtMs: z.int(),
})
export type UsageEvent = z.infer<typeof usageEvent>

/** Events of one tick travel as one durable message. */
export const usageBatch = z.object({ v: z.literal(1), events: z.array(usageEvent).min(1) })
export type UsageBatch = z.infer<typeof usageBatch>
