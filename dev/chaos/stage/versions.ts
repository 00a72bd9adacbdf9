/**
 * Two versions of the gateway's services, either of which can run as any process of the cluster.
 */

import { join } from 'node:path'
import type { ProcessPlan } from '@gateway/cluster/supervise'
import type { VersionName } from '../plan/faults.ts'

/** The folder of each: of TypeScript, or of a release's build. */
export type Versions = Readonly<Record<VersionName, { folder: string; isCompiled: boolean }>>

export function entryOf({ service }: ProcessPlan, { folder, isCompiled }: Versions[VersionName]): string {
  return join(folder, 'services', service, 'src', isCompiled ? 'main.js' : 'main.ts')
}
