/**
 * The job that an edge dispatches to a router, and the messages in the router's frames.
 *
 * A job's body is the client's JSON object, in the client's dialect, without `model`, `stream` and `stream_options`.
 * The router writes those in front, so a backend of the same dialect costs no second parse. Responses travel as the
 * backend's own bytes, or translated into the client's dialect.
 */

import * as z from 'zod'
import { openEnum } from './open-enum.ts'
import { targetError } from './target-error.ts'
import { clientDialects } from './vendors.ts'
import { tokenUsage } from './usage.ts'
import { attemptRecord, bill, compactionForms, jobKinds } from './usage-event.ts'

export type JobKind = (typeof jobKinds)[number]

/** An ability that a target needs to serve the request. */
export const capability = z.enum(['chat', 'tools', 'vision', 'embeddings', 'images'])
export type Capability = z.infer<typeof capability>

const hostedCalls = z.object({ calls: z.record(z.string(), z.int().min(0)), total: z.int().min(0) })

export const jobHeader = z.object({
  /** The router reports by it if it loses its edge. */
  ...bill.shape,
  /** 1 for the first dispatch; a re-dispatch counts up. */
  attempt: z.int().min(1),
  kind: z.enum(jobKinds),
  /**
   * chat: the dialect of the client's request and response; `chat` where an edge of the former version does not say.
   */
  dialect: z.enum(clientDialects).optional(),
  /** responses: the conversation is to be compacted. Such a job has a subject of its own, which former routers do not know. */
  compaction: z.enum(compactionForms).optional(),
  /** Anthropic's headers of the same names, as the client sent them, for backends that speak `messages`. */
  anthropicVersion: z.string().optional(),
  anthropicBeta: z.string().optional(),
  /** The client's other `anthropic-*` headers, by name. They are an open list. */
  anthropicHeaders: z.record(z.string(), z.string()).optional(),
  /** Time left for the whole request when the job was sent. A duration, because clocks differ. */
  remainingMs: z.int().min(0),
  /**
   * Time left until the response's head: its client waits no longer for the headers. After the head, `remainingMs`
   * holds.
   */
  headWithinMs: z.int().min(0).optional(),
  configRevision: z.string(),
  needs: z.array(capability),
  stream: z.boolean(),
  /** The client set `stream_options.include_usage`: the router passes the usage chunk on. */
  includeUsage: z.boolean(),
  /** embeddings: the client's choice; the router always requests floats from backends. */
  encodingFormat: z.enum(['float', 'base64']).optional(),
  /** embeddings: how long the vectors must be; 768 where an edge of the former version does not say. */
  dimensions: z.int().min(1).optional(),
  /** embeddings: those are fewer than the model usually has, so the router requests them from the target. */
  isShortened: z.boolean().optional(),
  /** Set where the client gave no cap and the lane has one: the router writes it into the body. */
  defaultMaxTokens: z.int().optional(),
  /**
   * chat: the most tokens of all choices together that the client's cap or the lane's allows. The router ends a stream whose
   * backend goes on. Left out where there is no cap; an edge of the former version does not say.
   */
  mostOutputTokens: z.int().min(1).optional(),
  promptTokensEstimate: z.int().min(0),
  /** images: the tokens that admission reserved for the pictures. They cost as many when their backend does not count them. */
  reservedOutputTokens: z.int().min(0).optional(),
  /** The request may have a vendor run a tool. An edge of the former version leaves it out. */
  asksHostedTools: z.boolean().optional(),
  /** Those that the price covers: the most calls of each tool, and of all together. The router leaves all others out. */
  hostedTools: hostedCalls.optional(),
  /** Set where the prompt holds sound that has a rate of its own: the usual tokens of all else in it. */
  tokensBesideSound: z.int().min(0).optional(),
  /** Requests with the same key prefer the same backend (pools with `affinity: conversation`). */
  affinityKey: z.string().optional(),
  /** Always set, for routers of release 0.1.0. They report a client that leaves an edge without it. */
  edgeSettles: z.boolean().optional(),
})
export type JobHeader = z.infer<typeof jobHeader>
/** A job before its dispatch. */
export type PlannedJob = Omit<JobHeader, 'attempt' | 'remainingMs' | 'edgeSettles'>

/** Sent when the response is certain: validated JSON, or the first content of a stream. */
export const responseHead = z.object({
  contentType: z.string(),
  /** The pool: the value of `x-svc-upstream`. */
  upstream: z.string(),
  backend: z.string(),
  backendModel: z.string(),
  /** The time that the router waited for backends until now, failed attempts included. */
  backendMs: z.number().min(0).optional(),
  /** The client's parameters that the backend does not take, left out: the value of `x-svc-dropped-params`. */
  droppedParams: z.array(z.string()).optional(),
})
export type ResponseHead = z.infer<typeof responseHead>

/** Sent after the last byte. A stream's `[DONE]` is the edge's to write. */
export const responseEnd = z.object({
  usage: tokenUsage,
  attempts: z.array(attemptRecord),
})
export type ResponseEnd = z.infer<typeof responseEnd>

/** A target's word on a request that it finds wrong, without the target's secrets. */
export const targetRefusal = z.object({
  message: z.string(),
  code: z.string(),
  type: z.string(),
  param: z.string().nullable(),
})
export type TargetRefusal = z.infer<typeof targetRefusal>

/**
 * A request that failed for good, or that its client has left. `usage` is the usage that the request costs all the
 * same: that of the delivered content. For a client that has left, it includes the work of the last attempt's
 * backend.
 */
export const responseFailure = z.object({
  code: openEnum(['UPSTREAMS_EXHAUSTED', 'BACKEND_REFUSED', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR']),
  message: z.string(),
  attempted: z.array(z.string()),
  attempts: z.array(attemptRecord),
  /** BACKEND_REFUSED: the request's own fault, in the backend's words. */
  backendStatus: z.int().optional(),
  backendBody: z.string().optional(),
  /** BACKEND_REFUSED by a target: the same in words that the client's software knows. */
  refusal: targetRefusal.optional(),
  /** BACKEND_REFUSED, UPSTREAMS_EXHAUSTED: for clients of Messages, the error of the one target that decided. */
  targetError: targetError.optional(),
  usage: tokenUsage.optional(),
  /** UPSTREAMS_EXHAUSTED: the client's own time for the headers was over, which is no fault of a backend. */
  clientTimedOut: z.boolean().optional(),
  /**
   * SERVICE_UNAVAILABLE: refused because all are late; when to try again. UPSTREAMS_EXHAUSTED: when the first of the
   * targets is back that demand a pause.
   */
  retryAfterMs: z.number().optional(),
})
export type ResponseFailure = z.infer<typeof responseFailure>
