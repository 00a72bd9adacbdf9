/**
 * The overview of the organization or of one project: figures of the ledger, and figures of the edges.
 *
 * The ledger has every request that was served or charged, by the minute in which it began. The edges have every request that ended,
 * the refused among them, by the minute in which it ended. An edge that restarts loses its own part.
 */

import * as z from 'zod'
import { nothing, unixTime, type Operation } from './operation.ts'

/** Each with the seconds of its buckets and their number; the last bucket has begun, and is not over. */
export const OVERVIEW_WINDOWS = {
  hour: { bucketSeconds: 60, buckets: 60 },
  day: { bucketSeconds: 3_600, buckets: 24 },
  month: { bucketSeconds: 86_400, buckets: 31 },
} as const
export const overviewWindows = ['hour', 'day', 'month'] as const
export type OverviewWindow = (typeof overviewWindows)[number]

/** From the ledger: the same as usage and costs return for these buckets. */
const spent = {
  requests: z.int(),
  /** In US dollars, of projects on a plan in dollars. */
  spend_usd: z.number(),
  /** Of the allowance, with the models' multipliers, of projects on a plan in tokens. */
  spend_tokens: z.number(),
}

/** From the edges. */
const measured = {
  /** Requests that ended, the refused among them. */
  ended: z.int(),
  /** By the code of the error, most first. */
  errors: z.array(z.object({ code: z.string(), count: z.int() })),
  /** Clients that left before the end. */
  clients_gone: z.int(),
  /** Of served requests; at most 9.1 % from a true value. Null: there was none. */
  p50_ms: z.number().nullable(),
  p99_ms: z.number().nullable(),
  /** To a stream's first content. */
  first_token_p50_ms: z.number().nullable(),
  first_token_p99_ms: z.number().nullable(),
}
const live = { live_requests: z.int(), live_streams: z.int() }

const overview = z.object({
  object: z.literal('overview'),
  window: z.enum(overviewWindows),
  project_id: z.string().nullable(),
  from: unixTime,
  /** Exclusive: the end of the bucket that is not over. */
  to: unixTime,
  bucket_seconds: z.int(),
  /** The time of the figures. */
  at: unixTime,
  edges: z.object({
    /** Edges that gave their figures, and those of which they are known. An edge of a former release is not known. */
    replied: z.int(),
    known: z.int(),
    /** All edges count since then; at the earliest `from`. */
    since: unixTime,
  }),
  ...spent,
  ...measured,
  ...live,
  series: z.array(z.object({ start_time: unixTime, ...spent, ...measured })),
  /** By the requested model. A project's have figures of the ledger alone. */
  models: z.array(z.object({ id: z.string(), ...spent, ...measured, ...live })),
  /** Of the whole organization alone, and from the edges alone. */
  backends: z.array(z.object({ id: z.string(), ...measured, ...live })),
  /** Those with the greatest spend, the most requests or the most errors. */
  projects: z.array(z.object({ id: z.string(), name: z.string().nullable(), ...spent, ...measured, ...live })),
  /** All projects with usage that are not in `projects`. */
  other_projects: z.object({ count: z.int(), ...spent }),
})
export type Overview = z.input<typeof overview>

export const overviewOperations = {
  'overview.show': {
    method: 'GET',
    path: '/admin/v1/overview',
    service: 'edge',
    access: 'reader or project owner',
    query: z.strictObject({
      window: z.enum(overviewWindows).default('hour'),
      project: z.string().min(1).max(256).optional(),
    }),
    body: nothing,
    namesThing: true,
    output: overview,
    about:
      'shows the figures of the last hour, day or month; `project` names the only one to show, as its owner may, too',
  },
} as const satisfies Record<string, Operation>
