/**
 * The wall clocks of the gateway's processes, each of which can be set wrong while it runs.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessPlan } from '@gateway/cluster/supervise'
import type { ProcessName } from '../plan/places.ts'
import { withPreload } from './preload.ts'

/** A process looks at its file five times a second. */
export const NOTICED_WITHIN_MS = 400

export interface Clocks {
  prepare(plan: ProcessPlan): ProcessPlan
  set(name: ProcessName, wrongByMs: number): Promise<void>
  right(name: ProcessName): Promise<void>
}

export async function openClocks(folder: string): Promise<Clocks> {
  const clocks = join(folder, 'clocks')
  await mkdir(clocks, { recursive: true })
  return {
    prepare: (plan) =>
      withPreload(plan, `${import.meta.dirname}/shift-clock.ts`, { CHAOS_CLOCK: join(clocks, plan.name) }),
    set: (name, wrongByMs) => writeFile(join(clocks, name), String(wrongByMs)),
    right: (name) => rm(join(clocks, name), { force: true }),
  }
}
