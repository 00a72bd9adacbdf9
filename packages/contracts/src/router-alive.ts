/**
 * A router's sign of life for the others, once a second and at each change.
 */

import { z } from 'zod'

export const routerAlive = z.object({
  routerId: z.string().min(1),
  /** It is stopping and takes nothing new: the requests that it still has, by backend. */
  leaving: z.record(z.string(), z.int().min(0)).optional(),
})

export type RouterAlive = z.infer<typeof routerAlive>
