/**
 * The facts of a project and of its key that an edge decides by before it calls admission. The admission store keeps them as text,
 * compares their versions with the edge's hint, and returns them where the hint is old.
 */

import * as z from 'zod'

export const projectPolicy = z.object({
  /** Null: every model of the plan. */
  models: z.object({ mode: z.enum(['allow_list', 'deny_list']), ids: z.array(z.string()) }).nullable(),
  /** Vendors' tools that requests of the project may name, in the config's words. */
  hostedTools: z.array(z.string()),
})
export type ProjectPolicy = z.infer<typeof projectPolicy>

export const keyPolicy = z.object({
  /** Null: every model of the project. */
  models: z.array(z.string()).nullable(),
  /** Null: the key of a service account. */
  userId: z.string().nullable(),
})
export type KeyPolicy = z.infer<typeof keyPolicy>
