/**
 * Edges' figures about the requests that have ended on them, and about those that run. An edge that serves an overview queries all
 * edges. An edge of a former release knows no such message, and its figures are absent.
 */

import * as z from 'zod'

/** Counts of neighbouring buckets from the bucket `first`. All releases have the same buckets. */
const histogram = z.object({ first: z.int().min(0), counts: z.array(z.int().min(0)) })

const figures = z.object({
  /** Ended requests, the refused among them. */
  requests: z.int(),
  /** By the code of the error; `client_gone`: the client left. */
  failures: z.record(z.string(), z.int()),
  /** Of requests that were served: from the request to the end of the response. */
  duration: histogram,
  /** From the request to a stream's first content. */
  firstToken: histogram,
})
const namedFigures = figures.extend({ name: z.string() })

const live = z.object({ name: z.string(), requests: z.int(), streams: z.int() })

/** Of whole minutes, hours or days of UTC that begin in the range. */
export const describeEdge = z.object({
  question: z.uuid(),
  /** In seconds since 1970; `to` is exclusive. */
  from: z.int(),
  to: z.int(),
  bucketSeconds: z.int().positive(),
  /** Null: of all accounts. Otherwise of this one, which has totals and buckets alone. */
  account: z.string().nullable(),
  /** Accounts to describe in full. */
  accounts: z.array(z.string()),
})
export type DescribeEdge = z.infer<typeof describeEdge>

const edgeView = z.object({
  /** Its process on the bus. */
  edge: z.string(),
  /** Its counts begin here, in seconds since 1970. */
  since: z.int(),
  /** Requests and streams that run now. */
  live: z.object({
    requests: z.int(),
    streams: z.int(),
    models: z.array(live),
    backends: z.array(live),
    accounts: z.array(live),
  }),
  totals: figures,
  /** Those with requests. */
  buckets: z.array(figures.extend({ begins: z.int() })),
  models: z.array(namedFigures),
  backends: z.array(namedFigures),
  /** The wanted accounts. */
  accounts: z.array(namedFigures),
  /** The failures of each account that has some, most first. */
  failing: z.array(z.object({ account: z.string(), failures: z.int() })),
})
export type EdgeView = z.infer<typeof edgeView>

/** Published to every edge; the one that sent `question` listens. */
export const edgeDescribed = z.object({ question: z.uuid(), view: edgeView })
