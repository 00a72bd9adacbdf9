/**
 * Which process runs which revision of the config. An edge that serves an operator queries all edges, keys and metering. Routers
 * are described by `routers-api.ts`.
 */

import * as z from 'zod'
import { openEnum } from './open-enum.ts'

const describedServices = ['edge', 'keys', 'metering'] as const
export type DescribedService = (typeof describedServices)[number]

const configView = z.object({
  service: openEnum(describedServices),
  /** Its process on the bus. */
  process: z.string(),
  host: z.string(),
  pid: z.int(),
  /** Null for a service that reads no config. */
  revision: z.string().nullable(),
})
export type ConfigView = z.infer<typeof configView>

export const describeConfig = z.object({ question: z.uuid() })
/** Published to every edge; the one that sent `question` listens. */
export const configDescribed = z.object({ question: z.uuid(), view: configView })
