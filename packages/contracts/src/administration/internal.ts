/**
 * Calls of the same procedure that have no HTTP form.
 */

import * as z from 'zod'
import { administerRefusal, administrator } from './envelope.ts'

export const internalCalls = {
  /**
   * The service that serves `for` calls this one first. `project_id`: of its path, or `project` of its query. `audited`: the input of a
   * change, for the audit log.
   */
  'administrators.authorize': {
    input: z.object({
      for: z.string(),
      project_id: z.string().optional(),
      audited: z.record(z.string(), z.unknown()).optional(),
    }),
    output: administrator,
  },
  /**
   * For a change that metering makes: its refusal beforehand, so that the audit log has no change that is none. A former release has no
   * such call.
   */
  'changes.check': {
    input: z.object({ for: z.string(), input: z.record(z.string(), z.unknown()) }),
    output: z.object({ refusal: administerRefusal.nullable() }),
  },
  /** For the figures of an overview, once its caller has been authorized. A former release has no such call. */
  'projects.names': {
    input: z.object({ project_ids: z.array(z.string()).max(1_000) }),
    output: z.object({ names: z.record(z.string(), z.string()) }),
  },
} as const
