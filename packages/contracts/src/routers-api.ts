/**
 * Routers' descriptions of themselves and their backends for an operator. One router takes the request, queries all
 * live routers, and replies.
 */

import * as z from 'zod'
import { openEnum } from './open-enum.ts'

/** `on_trial`: back from an ejection, one request at a time until one succeeds. */
const healthStates = ['healthy', 'ejected', 'cooling', 'on_trial', 'drained'] as const

/** An operator has taken a backend out. `ejected`: it is the last resort. `drained`: it gets no new request at all. */
export const backendControls = ['ejected', 'drained'] as const
export type BackendControl = (typeof backendControls)[number]

/** A router that hears of none requests them again and again. */
export const backendControlsRequest = z.object({})
/** All of them. `readAtMs`: by the database's clock; a keys service of the former version does not say. */
export const backendControlsReply = z.object({
  controls: z.array(z.object({ backend: z.string(), control: openEnum(backendControls) })),
  readAtMs: z.number().optional(),
})

const health = {
  state: openEnum(healthStates),
  /** When an ejection or a cooling ends, in milliseconds since 1970; null otherwise. */
  untilMs: z.int().nullable(),
  /** When the first ejection since its last recovery began, in milliseconds since 1970; a former router reports none. */
  sinceMs: z.int().optional(),
  /** The outcome of the attempt that ejected it last, as `http_500`, or `probe`. */
  cause: z.string().optional(),
}
const healthView = z.object(health)
export type HealthView = z.infer<typeof healthView>

const backendView = z.object({
  backend: z.string(),
  ...health,
  /** An operator's word, which outweighs the router's own; a former router knows none. */
  control: openEnum(backendControls).nullable().default(null),
  /** Calls under way from this router, and how many it may have. */
  outstanding: z.int(),
  places: z.int(),
  /** Models on the backend that are out of the choice, or on trial, while the backend itself may be well. */
  models: z.array(z.object({ model: z.string(), ...health })),
})
export type BackendView = z.infer<typeof backendView>

const routerView = z.object({
  /** Its process on the bus. */
  router: z.string(),
  host: z.string(),
  pid: z.int(),
  configRevision: z.string(),
  draining: z.boolean(),
  jobs: z.int(),
  /** Jobs that wait for a place at a backend. */
  waiting: z.int(),
  backends: z.array(backendView),
})
export type RouterView = z.infer<typeof routerView>

/** Requests every router's description. */
export const describeRouter = z.object({ question: z.uuid() })
/** Published to every router; the one that sent `question` listens. */
export const routerDescribed = z.object({ question: z.uuid(), view: routerView })

export const showRoutersRequest = z.object({})
export const showRoutersReply = z.object({
  routers: z.array(routerView),
  /** The number of live routers; those that are not in `routers` did not reply in time. */
  alive: z.int(),
})
export type ShowRoutersReply = z.infer<typeof showRoutersReply>

/** A router's sign of life for the others, once a second and at each change. */
export const routerAlive = z.object({
  routerId: z.string().min(1),
  /** It is stopping and takes nothing new: the requests that it still has, by backend. */
  leaving: z.record(z.string(), z.int().min(0)).optional(),
})
export type RouterAlive = z.infer<typeof routerAlive>
